// The search seen along one knob at a time: scores over its values, with what the model of the search expects. Pure.

import type { Importance, Knob, Space, TrialSummary } from '../../api/generated';
import type { Curve, CurvePoint } from '../../charts/CurveChart';
import { formatPercent } from '../../maths/format';
import { varyingKnobs } from '../../maths/heatMapGrid';
import { knobAxis } from '../../maths/knobAxis';
import { freePart } from '../../maths/space';

export interface Slice {
  knob: string;
  /** How much of the differences the knob explains, in words; empty where that is not known. */
  share: string;
  curves: Curve[];
  ticks: number[];
  formatX: (x: number) => string;
}

/** A slice for each knob that the search has varied, the most important first. */
export function slices(
  space: Space,
  trials: readonly TrialSummary[],
  importance: Importance | null,
): Slice[] {
  const search = trials.filter(({ purpose }) => purpose === 'search');
  const varying = varyingKnobs(search.map(({ configuration }) => freePart(configuration, space)));
  const shareOf = (name: string) => importance?.knobs.find(({ knob }) => knob === name)?.share ?? 0;
  return space.knobs
    .filter(({ name }) => varying.includes(name))
    .toSorted((a, b) => shareOf(b.name) - shareOf(a.name))
    .map((knob) => slice(knob, search, importance));
}

function slice(knob: Knob, search: readonly TrialSummary[], importance: Importance | null): Slice {
  const { name } = knob;
  const model = importance?.knobs.find((one) => one.knob === name);
  const values = [...new Set(search.flatMap(({ configuration }) => configuration[name] ?? []))];
  const { place, formatX, ticks } = knobAxis(knob, values);
  const points = search.flatMap(({ configuration, score, estimated_score }): CurvePoint[] => {
    const value = configuration[name];
    const y = score ?? estimated_score;
    return value === undefined || y === null ? [] : [{ x: place(value), y, crossed: score === null }];
  });
  const curves: Curve[] = [{ label: 'trials', points, style: 4, shape: 'points' }];
  if (model) {
    const expected = model.curve.map(({ value, score }) => ({ x: place(value), y: score }));
    curves.push({ label: 'mean by the model', points: expected, style: 0 });
  }
  return {
    knob: name,
    share: model ? `explains ${formatPercent(model.share)} of the differences` : '',
    curves,
    ticks,
    formatX,
  };
}
