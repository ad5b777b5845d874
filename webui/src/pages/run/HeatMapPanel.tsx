// The search as a map: scores over two knobs, in one map or one for each value of a third.

import { Select } from '@mantine/core';
import { memo, useMemo } from 'react';
import type { RunDetail, TrialSummary } from '../../api/generated';
import { HeatMap } from '../../charts/HeatMap';
import { VERDICT_SYMBOLS } from '../../charts/heatMapCells';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { cssColour, sequentialColour } from '../../maths/colourScale';
import { formatMbps, formatNumber } from '../../maths/format';
import type { Configuration, HeatMapGrid } from '../../maths/heatMapGrid';
import { panelLabel } from '../../maths/heatMapGrid';
import { describeConfiguration, sameConfiguration } from '../../maths/knobDiff';
import { chooseAxes, freeKnobs, levelName } from './facts';
import classes from './Run.module.css';
import { EACH, searchMap, TOGETHER } from './searchMap';

export interface MapLook {
  x?: string | undefined;
  y?: string | undefined;
  /** The knob that has a map for each of its values. */
  by?: string | undefined;
  /** The level of the search that is shown, from 1; all when left out. */
  level?: number | undefined;
}

interface HeatMapPanelProps {
  run: RunDetail;
  trials: readonly TrialSummary[];
  /** The configuration being measured now. */
  current: Configuration | null;
  look: MapLook;
  selected: number | undefined;
  onLook: (look: MapLook) => void;
  onSelect: (trial: number) => void;
}

export const HeatMapPanel = memo(function HeatMapPanel({
  run,
  trials,
  current,
  look,
  selected,
  onLook,
  onSelect,
}: HeatMapPanelProps) {
  const free = useMemo(() => freeKnobs(run.space), [run.space]);
  const axes = useMemo(() => chooseAxes(run.space, look.x, look.y), [run.space, look.x, look.y]);
  const search = useMemo(() => trials.filter(({ purpose }) => purpose === 'search'), [trials]);
  const map = useMemo(
    () => axes && searchMap({ trials: search, current, axes, free, by: look.by, level: look.level }),
    [axes, search, current, free, look.by, look.level],
  );
  if (axes === null || map === null) {
    return (
      <Panel title="Map of the search">
        <Message title="A map needs two free knobs.">The table below has all trials.</Message>
      </Panel>
    );
  }
  const { grid, panelKnobs, levels, place } = map;
  return (
    <Panel
      title="Map of the search"
      description={`Score in Mbps${map.best ? ', the best of all trials at a place' : ' of each configuration measured'}.`}
      actions={
        <>
          <LookSelect
            label="Across"
            value={axes.x}
            options={free}
            onChange={(knob) => onLook({ x: knob, y: knob === axes.y ? axes.x : axes.y })}
          />
          <LookSelect
            label="Up"
            value={axes.y}
            options={free}
            onChange={(knob) => onLook({ x: knob === axes.x ? axes.y : axes.x, y: knob })}
          />
          {map.choices.length > 1 && (
            <LookSelect
              label="Maps"
              value={map.by}
              options={map.choices.map((choice) => ({
                value: choice,
                label: choice === TOGETHER ? 'one' : choice === EACH ? 'each combination' : `each ${choice}`,
              }))}
              onChange={(by) => onLook({ by })}
            />
          )}
          {levels.length > 1 && (
            <LookSelect
              label="Level"
              value={String(look.level ?? '')}
              options={[
                { value: '', label: 'all' },
                ...levels.map((level) => ({ value: String(level), label: levelName(run.strategy, level) })),
              ]}
              onChange={(level) => onLook({ level: level === '' ? undefined : Number(level) })}
            />
          )}
        </>
      }
    >
      {grid.panels.length === 0 ? (
        <Message title="No configuration has been measured yet.">
          Cells fill in as trials are recorded.
        </Message>
      ) : (
        <div className={classes.maps}>
          {grid.panels.map((panel) => {
            const name = describeConfiguration(panel.label);
            const here = current !== null && sameConfiguration(panelLabel(current, panelKnobs), panel.label);
            return (
              <div key={name}>
                {name && <h3 className={classes.mapTitle}>{name}</h3>}
                <HeatMap
                  label={`Map of scores over ${axes.x} and ${axes.y}${name && `, ${name}`}: ${panel.cells.size} cells${rangeText(grid)}.`}
                  grid={grid}
                  panel={panel}
                  xName={map.xName}
                  yName={map.yName}
                  current={here ? place(current) : null}
                  selectedTrial={selected}
                  format={(score) => formatNumber(score)}
                  onSelect={onSelect}
                />
              </div>
            );
          })}
          <Legend grid={grid} running={current !== null} />
        </div>
      )}
    </Panel>
  );
});

const rangeText = ({ range }: HeatMapGrid): string =>
  range ? `, from ${formatMbps(range.low)} to ${formatMbps(range.high)}` : '';

function LookSelect(props: {
  label: string;
  value: string;
  options: readonly (string | { value: string; label: string })[];
  onChange: (value: string) => void;
}) {
  return (
    <Select
      size="xs"
      w={230}
      aria-label={
        props.label === 'Across' || props.label === 'Up' ? `Knob on the axis: ${props.label}` : props.label
      }
      leftSection={<span className={classes.dimmed}>{props.label}</span>}
      leftSectionWidth={56}
      data={[...props.options]}
      value={props.value}
      allowDeselect={false}
      onChange={(value) => value !== null && props.onChange(value)}
    />
  );
}

const RAMP = Array.from({ length: 16 }, (_, step) => cssColour(sequentialColour(step / 15)));

function Legend({ grid, running }: { grid: HeatMapGrid; running: boolean }) {
  const { range } = grid;
  const failures = new Set(
    grid.panels.flatMap(({ cells }) => [...cells.values()].flatMap(({ failure }) => failure?.verdict ?? [])),
  );
  return (
    <div className={classes.scale}>
      {range && range.high > range.low && (
        <span className={classes.ramp}>
          {formatNumber(range.low)}
          <span className={classes.rampBar} aria-hidden>
            {RAMP.map((colour) => (
              <span key={colour} style={{ background: colour }} />
            ))}
          </span>
          {formatMbps(range.high)}
        </span>
      )}
      {[...failures].map((verdict) => (
        <span key={verdict}>
          {VERDICT_SYMBOLS[verdict] ?? '✕'} {verdict}
        </span>
      ))}
      {running && <span>dashed frame: being measured</span>}
      <span>solid frame: chosen trial</span>
    </div>
  );
}
