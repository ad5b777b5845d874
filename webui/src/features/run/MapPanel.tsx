// The search as a map of scores over two knobs: points where a strategy puts its configurations anywhere, a grid of
// cells where they lie on one.

import { memo, useMemo } from 'react';
import type { RunDetail, Space, TrialSummary } from '../../api/generated';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import type { Configuration } from '../../maths/heatMapGrid';
import { levelName, searchLevel } from '../../maths/searchLevel';
import { freeKnobs } from '../../maths/space';
import { bestOf, configurationScores, standingTrials } from './configurationScores';
import { GridMap } from './GridMap';
import { LookSelect } from './LookSelect';
import { chooseAxes } from './mapAxes';
import { PointMap } from './PointMap';

export interface MapLook {
  x?: string | undefined;
  y?: string | undefined;
  /** The knob that has a map, or a shape, for each of its values. */
  by?: string | undefined;
  /** The level of the search that is shown, from 1; all when left out. */
  level?: number | undefined;
}

interface MapPanelProps {
  run: RunDetail;
  trials: readonly TrialSummary[];
  /** The configuration being measured now. */
  current: Configuration | null;
  look: MapLook;
  selected: number | undefined;
  /** Relative standard deviation of a single trial; null while it is not known. */
  noise: number | null;
  onLook: (look: MapLook) => void;
  onSelect: (trial: number) => void;
}

/** Strategies whose configurations lie on a grid. */
const GRIDS: readonly string[] = ['grid', 'coarse-to-fine'];

/** Words alone have no distances: they lie on a grid whatever the strategy. */
const isNumber = (space: Space, name: string) =>
  space.knobs.find((knob) => knob.name === name)?.kind === 'integer';

export const MapPanel = memo(function MapPanel(props: MapPanelProps) {
  const { run, trials, look, onLook } = props;
  const { space, strategy } = run;
  const free = useMemo(() => freeKnobs(space), [space]);
  const axes = useMemo(() => chooseAxes(space, look.x, look.y), [space, look.x, look.y]);
  const search = useMemo(() => standingTrials(trials, run.outcome), [trials, run.outcome]);
  const levels = useMemo(() => [...new Set(search.map(searchLevel))].sort((a, b) => a - b), [search]);
  const shown = useMemo(
    () => (look.level === undefined ? search : search.filter((trial) => searchLevel(trial) === look.level)),
    [search, look.level],
  );
  const scores = useMemo(() => configurationScores(trials, run.outcome), [trials, run.outcome]);
  const best = useMemo(() => bestOf(scores, run.outcome), [scores, run.outcome]);
  if (axes === null) {
    return (
      <Panel title="Map of the search">
        <Message title="A map needs two free knobs.">The table below has all trials.</Message>
      </Panel>
    );
  }
  const onGrid = GRIDS.includes(strategy) || !(isNumber(space, axes.x) || isNumber(space, axes.y));
  const SearchMap = onGrid ? GridMap : PointMap;
  return (
    <Panel
      title="Map of the search"
      description={
        onGrid
          ? 'The score of each configuration: of the finalists their mean in the confirmation, of others that of their trials in the search.'
          : 'Each configuration where it lies; lighter and larger is a higher score: of the finalists their mean in the confirmation, of others that of their trials in the search.'
      }
      actions={
        <>
          <LookSelect
            label="Across"
            name="Knob on the axis: Across"
            value={axes.x}
            options={free}
            onChange={(knob) => onLook({ x: knob, y: knob === axes.y ? axes.x : axes.y })}
          />
          <LookSelect
            label="Up"
            name="Knob on the axis: Up"
            value={axes.y}
            options={free}
            onChange={(knob) => onLook({ x: knob === axes.x ? axes.y : axes.x, y: knob })}
          />
          {levels.length > 1 && (
            <LookSelect
              label="Level"
              value={String(look.level ?? '')}
              options={[
                { value: '', label: 'all' },
                ...levels.map((level) => ({ value: String(level), label: levelName(strategy, level) })),
              ]}
              onChange={(level) => onLook({ level: level === '' ? undefined : Number(level) })}
            />
          )}
        </>
      }
    >
      {shown.length === 0 && props.current === null ? (
        <Message title="No configuration has been measured yet.">They appear as trials are recorded.</Message>
      ) : (
        <SearchMap
          space={space}
          trials={shown}
          scores={scores}
          best={best}
          current={props.current}
          axes={axes}
          free={free}
          by={look.by}
          selected={props.selected}
          noise={props.noise}
          onBy={(by) => onLook({ by })}
          onSelect={props.onSelect}
        />
      )}
    </Panel>
  );
});
