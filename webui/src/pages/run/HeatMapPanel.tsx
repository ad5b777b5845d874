// The search as a map: scores over two knobs, one map for each combination of the others.

import { Select } from '@mantine/core';
import { useMemo } from 'react';
import type { RunDetail, TrialSummary } from '../../api/generated';
import { HeatMap } from '../../charts/HeatMap';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { cssColour, sequentialColour } from '../../maths/colourScale';
import { formatMbps, formatNumber } from '../../maths/format';
import {
  type Configuration,
  type HeatMapGrid,
  heatMapGrid,
  panelLabel,
  varyingKnobs,
} from '../../maths/heatMapGrid';
import { describeConfiguration, sameConfiguration } from '../../maths/knobDiff';
import { chooseAxes, freeKnobs } from './facts';
import classes from './Run.module.css';

interface HeatMapPanelProps {
  run: RunDetail;
  trials: readonly TrialSummary[];
  /** The configuration being measured now. */
  current: Configuration | null;
  x: string | undefined;
  y: string | undefined;
  selected: TrialSummary | undefined;
  onAxes: (x: string, y: string) => void;
  onSelect: (trial: number) => void;
}

export function HeatMapPanel({ run, trials, current, x, y, selected, onAxes, onSelect }: HeatMapPanelProps) {
  const free = useMemo(() => freeKnobs(run.space), [run.space]);
  const axes = chooseAxes(free, x, y);
  const search = useMemo(() => trials.filter(({ purpose }) => purpose === 'search'), [trials]);
  if (axes === null) {
    return (
      <Panel title="Map of the search">
        <Message title="A map needs two free knobs.">The table below has all trials.</Message>
      </Panel>
    );
  }
  const others = free.filter((name) => name !== axes.x && name !== axes.y);
  const configurations = [...search.map(({ configuration }) => configuration), ...(current ? [current] : [])];
  const panelKnobs = varyingKnobs(configurations.map((configuration) => panelLabel(configuration, others)));
  const grid = heatMapGrid(search, axes.x, axes.y, panelKnobs, current);
  return (
    <Panel
      title="Map of the search"
      description="Score in Mbit/s of each configuration measured."
      actions={
        <>
          <AxisSelect
            label="Across"
            value={axes.x}
            knobs={free}
            onChange={(knob) => onAxes(knob, knob === axes.y ? axes.x : axes.y)}
          />
          <AxisSelect
            label="Up"
            value={axes.y}
            knobs={free}
            onChange={(knob) => onAxes(knob === axes.x ? axes.y : axes.x, knob)}
          />
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
                  xName={axes.x}
                  yName={axes.y}
                  current={here ? { x: current[axes.x] ?? '', y: current[axes.y] ?? '' } : null}
                  selectedTrial={selected?.number}
                  format={(score) => formatNumber(score)}
                  onSelect={onSelect}
                />
              </div>
            );
          })}
          <Legend range={grid.range} />
        </div>
      )}
    </Panel>
  );
}

const rangeText = ({ range }: HeatMapGrid): string =>
  range ? `, from ${formatMbps(range.low)} to ${formatMbps(range.high)}` : '';

function AxisSelect(props: {
  label: string;
  value: string;
  knobs: string[];
  onChange: (knob: string) => void;
}) {
  return (
    <Select
      size="xs"
      w={190}
      aria-label={`Knob on the axis: ${props.label}`}
      leftSection={<span className={classes.dimmed}>{props.label}</span>}
      leftSectionWidth={56}
      data={props.knobs}
      value={props.value}
      allowDeselect={false}
      onChange={(knob) => knob !== null && props.onChange(knob)}
    />
  );
}

const RAMP = Array.from({ length: 16 }, (_, step) => cssColour(sequentialColour(step / 15)));

function Legend({ range }: { range: { low: number; high: number } | null }) {
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
      <span>✕ not verified</span>
      <span>dashed frame: being measured</span>
      <span>solid frame: chosen trial</span>
    </div>
  );
}
