// The configurations of a search as points over two knobs. Pure.

import type { Space, TrialSummary } from '../../api/generated';
import { type ScatterAxis, type ScatterPoint, SHAPES } from '../../charts/ScatterMap';
import { formatMbps } from '../../maths/format';
import { type Configuration, facetLabel, varyingKnobs } from '../../maths/heatMapGrid';
import { knobAxis } from '../../maths/knobAxis';
import { describeConfiguration, type KnobValue } from '../../maths/knobDiff';
import { type ScoreScale, scorePosition, scoreScale } from '../../maths/scoreScale';
import type { ConfigurationScore } from './configurationScores';

interface ScatterInput {
  space: Space;
  trials: readonly TrialSummary[];
  scores: ReadonlyMap<string, ConfigurationScore>;
  best: string | undefined;
  /** The configuration being measured now: the axes reach to it. */
  current: Configuration | null;
  axes: { x: string; y: string };
  free: readonly string[];
  /** The knob whose values have shapes; the first that can when left out. */
  by: string | undefined;
  selected: number | undefined;
  noise: number | null;
}

export interface Scatter {
  points: ScatterPoint[];
  x: ScatterAxis;
  y: ScatterAxis;
  scale: ScoreScale | null;
  /** The knob that the shapes are of, and what each stands for; empty where no knob can have them. */
  by: string;
  shapes: string[];
  /** What `by` can be. */
  choices: string[];
  place: (configuration: Configuration) => { x: number; y: number };
}

/** Points of one place and different shapes stand beside each other, so far apart as a share of the axis. */
const APART = 0.015;

export function scatterPoints(input: ScatterInput): Scatter {
  const { space, trials, scores, best, current, axes, free, selected, noise } = input;
  const configurations = trials.map(({ configuration }) => configuration);
  const others = free.filter((name) => name !== axes.x && name !== axes.y);
  const varying = varyingKnobs(configurations.map((one) => facetLabel(one, others)));
  const valuesOf = (knob: string) => [...new Set(configurations.map((one) => one[knob] ?? ''))].sort();
  const choices = varying.filter((knob) => valuesOf(knob).length <= SHAPES.length);
  const by = input.by !== undefined && choices.includes(input.by) ? input.by : (choices[0] ?? '');
  const shapes = by === '' ? [] : valuesOf(by);
  const reached = current === null ? configurations : [...configurations, current];
  const [x, y] = [axisOf(space, axes.x, reached), axisOf(space, axes.y, reached)];
  const apart = APART * (x.axis.high - x.axis.low || 1);
  const groups = new Map<string, TrialSummary[]>();
  for (const trial of trials) {
    const same = groups.get(trial.configuration_hash);
    if (same) same.push(trial);
    else groups.set(trial.configuration_hash, [trial]);
  }
  const scored = [...groups].map(([hash, group]) => ({
    hash,
    group,
    ...(scores.get(hash) ?? { score: null, estimated: false }),
  }));
  const scale = scoreScale(
    scored.flatMap(({ score }) => score ?? []),
    noise,
  );
  const points = scored.map(({ hash, group, score, estimated }): ScatterPoint => {
    const last = group.at(-1) as TrialSummary;
    const { configuration } = last;
    const shape = Math.max(0, shapes.indexOf(configuration[by] ?? ''));
    const numbers = group.map(({ number }) => number);
    return {
      x: x.place(configuration[axes.x] ?? '') + (shape - Math.max(0, shapes.length - 1) / 2) * apart,
      y: y.place(configuration[axes.y] ?? ''),
      shape,
      colour: score === null || scale === null ? null : scorePosition(score, scale),
      estimated,
      selected: numbers.includes(selected ?? -1),
      text: hash === best ? `best ${formatMbps(score)}` : '',
      told: [
        describeConfiguration(facetLabel(configuration, [axes.x, axes.y, ...varying])),
        estimated
          ? `${formatMbps(score)}, an estimate: ${last.verdict}`
          : score === null
            ? `${last.verdict}: ${last.reason}`
            : formatMbps(score),
        `trial ${numbers.join(', ')}`,
      ],
      trial: last.number,
    };
  });
  return {
    points,
    x: x.axis,
    y: y.axis,
    scale,
    by,
    shapes: shapes.map(String),
    choices,
    place: (configuration) => ({
      x: x.place(configuration[axes.x] ?? ''),
      y: y.place(configuration[axes.y] ?? ''),
    }),
  };
}

function axisOf(space: Space, name: string, configurations: readonly Configuration[]) {
  const values: KnobValue[] = configurations.flatMap((one) => one[name] ?? []);
  const knob = space.knobs.find((one) => one.name === name);
  const { place, formatX, ticks } = knobAxis(knob ?? { kind: 'integer' }, values);
  const places = values.map(place);
  const axis: ScatterAxis = {
    name,
    ticks,
    format: formatX,
    low: Math.min(...places),
    high: Math.max(...places),
  };
  return { axis, place };
}
