// What lies over the plot of a chart over time: the cursor that all charts share, and the part that is being chosen.

import { type CSSProperties, type PointerEvent, useState } from 'react';
import { formatSecondsAgo } from '../maths/ticks';
import classes from './TimePlot.module.css';
import { moveCursor, useCursor } from './timeCursor';
import { PLOT_VARIABLES } from './timePlot';
import { markAt, type Points, type TimeView } from './timeView';

/** A drag of fewer pixels is a click. */
const LEAST_DRAG_PX = 8;
/** Nearer to an edge than this share of the width, the flag of the cursor would stick out. */
const EDGE_SHARE = 0.12;

interface Drag {
  /** Places on the time axis, in seconds before the right edge. */
  from: number;
  to: number;
  pixels: number;
}

/** What a drag does, the list of trials does too; the values stand in the table of each chart. */
export function TimeOverlay({ view }: { view: TimeView<Points> }) {
  const [drag, setDrag] = useState<Drag | null>(null);
  const { window, onZoom } = view;
  const place = ({ currentTarget, clientX }: PointerEvent<HTMLElement>): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return (Math.min(1, Math.max(0, (clientX - left) / Math.max(1, width))) - 1) * window;
  };
  return (
    <div
      className={classes.overlay}
      style={PLOT_VARIABLES as CSSProperties}
      data-zooms={onZoom !== undefined || undefined}
      onPointerMove={(event) => {
        const to = place(event);
        moveCursor(to);
        const { width } = event.currentTarget.getBoundingClientRect();
        setDrag((own) => own && { ...own, to, pixels: (Math.abs(to - own.from) / window) * width });
      }}
      onPointerLeave={() => moveCursor(null)}
      onPointerDown={(event) => {
        if (onZoom === undefined || event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        const from = place(event);
        setDrag({ from, to: from, pixels: 0 });
      }}
      onPointerUp={() => {
        if (drag && drag.pixels >= LEAST_DRAG_PX) onZoom?.(drag.from, drag.to);
        setDrag(null);
      }}
      onPointerCancel={() => setDrag(null)}
    >
      {drag && drag.pixels >= LEAST_DRAG_PX && (
        <div
          className={classes.range}
          style={{
            left: percent(1 + Math.min(drag.from, drag.to) / window),
            right: percent(-Math.max(drag.from, drag.to) / window),
          }}
        />
      )}
      <CursorLine view={view} />
    </div>
  );
}

const percent = (share: number) => `${100 * share}%`;

function CursorLine({ view: { window, marks, formatTime = formatSecondsAgo } }: { view: TimeView<Points> }) {
  const x = useCursor();
  if (x === null || x < -window) return null;
  const share = 1 + x / window;
  const mark = markAt(marks, x);
  return (
    <div
      className={classes.line}
      style={{ left: percent(share) }}
      data-edge={share < EDGE_SHARE ? 'left' : share > 1 - EDGE_SHARE ? 'right' : undefined}
    >
      <span className={classes.flag}>
        {formatTime(x)}
        {mark && ` · trial ${mark.trial}`}
      </span>
    </div>
  );
}
