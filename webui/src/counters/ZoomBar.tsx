// Above charts over time: how to look closer, and the way back. What a drag over a chart does can be chosen here too.

import { Button, NativeSelect } from '@mantine/core';
import type { TimeView } from '../charts/timeView';
import classes from './ZoomBar.module.css';

interface ZoomBarProps {
  /** All that there is to see. */
  whole: TimeView;
  /** What the whole is called, in `Show all of the …`. */
  name: string;
  /** Parts with names of their own; places on the time axis of the whole. */
  choices: readonly { label: string; from: number; to: number }[];
  /** Whether only a part is shown. */
  zoomed: boolean;
  onShowAll: () => void;
}

export function ZoomBar({ whole, name, choices, zoomed, onShowAll }: ZoomBarProps) {
  return (
    <div className={classes.zoom}>
      <span>Drag over a chart to look closer; all charts show the same time.</span>
      {choices.length > 0 && (
        <NativeSelect
          size="xs"
          aria-label="Look closer at"
          value=""
          data={[
            { value: '', label: 'Look closer at…' },
            ...choices.map(({ label, from }) => ({ value: String(from), label })),
          ]}
          onChange={(event) => {
            const chosen = choices.find(({ from }) => String(from) === event.currentTarget.value);
            if (chosen) whole.onZoom?.(chosen.from, chosen.to);
          }}
        />
      )}
      {zoomed && (
        <Button size="xs" variant="default" onClick={onShowAll}>
          Show all of the {name}
        </Button>
      )}
    </div>
  );
}
