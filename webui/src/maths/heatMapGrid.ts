// Where the cells of a heat map lie: one map for each combination of the knobs that are not on an axis.
//
// Trials choose their values freely (coarse grids, then finer ones), so the axes are the sorted values that
// occur, evenly spaced; where too many occur, they are put into bins. Several trials of one configuration share a
// cell, and its failure shows only while none of it has been verified. A cell that holds different configurations
// shows the best of them.

import type { KnobValue } from './knobDiff';
import { type ScoreScale, scoreScale } from './scoreScale';

export type Configuration = Readonly<Record<string, KnobValue>>;

export interface GridTrial {
  number: number;
  configuration: Configuration;
  verdict: string;
  reason: string;
  /** That of its configuration. */
  score: number | null;
}

export interface Cell {
  x: KnobValue;
  y: KnobValue;
  score: number | null;
  trials: GridTrial[];
  /** The last trial that was not verified, when none was. */
  failure: GridTrial | null;
}

export interface Facet {
  /** Values of the knobs off the axes that trials differ in; empty when there is one facet. */
  label: Configuration;
  cells: Map<string, Cell>;
}

export interface HeatMapGrid {
  xs: KnobValue[];
  ys: KnobValue[];
  facets: Facet[];
  /** Of the scores of all facets; null without one. */
  scale: ScoreScale | null;
}

export const cellKey = (x: KnobValue, y: KnobValue): string => `${x}|${y}`;

function compareValues(a: KnobValue, b: KnobValue): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
}

function distinct(values: Iterable<KnobValue>): KnobValue[] {
  return [...new Set(values)].sort(compareValues);
}

/** The knobs that take more than one value among the configurations, in the order of the first one. */
export function varyingKnobs(configurations: readonly Configuration[]): string[] {
  const first = configurations[0] ?? {};
  return Object.keys(first).filter((knob) => configurations.some((other) => other[knob] !== first[knob]));
}

/** The facet's part of a configuration: its values of `knobs`, and nothing else. */
export function facetLabel(configuration: Configuration, knobs: readonly string[]): Configuration {
  return Object.fromEntries(knobs.map((knob) => [knob, configuration[knob] ?? '']));
}

/**
 * The map of `trials` over two knobs, a facet for each combination of `facetKnobs`. The configuration under way
 * opens its row, column and facet but is no cell yet. `noise` is that of a single trial, for the colours.
 */
export function heatMapGrid(
  trials: readonly GridTrial[],
  xKnob: string,
  yKnob: string,
  facetKnobs: readonly string[],
  underWay: Configuration | null = null,
  noise: number | null = null,
): HeatMapGrid {
  const onAxes = trials.filter(({ configuration }) => xKnob in configuration && yKnob in configuration);
  const places = onAxes.map(({ configuration }) => configuration);
  if (underWay && xKnob in underWay && yKnob in underWay) places.push(underWay);
  const facets = new Map<string, Facet>();
  const facetOf = (configuration: Configuration): Facet => {
    const label = facetLabel(configuration, facetKnobs);
    const key = JSON.stringify(label);
    const facet = facets.get(key) ?? { label, cells: new Map<string, Cell>() };
    facets.set(key, facet);
    return facet;
  };
  for (const place of places) facetOf(place);
  for (const trial of onAxes) {
    const facet = facetOf(trial.configuration);
    const x = trial.configuration[xKnob] as KnobValue;
    const y = trial.configuration[yKnob] as KnobValue;
    const cell = facet.cells.get(cellKey(x, y)) ?? { x, y, score: null, trials: [], failure: null };
    cell.trials.push(trial);
    facet.cells.set(cellKey(x, y), cell);
  }
  const scores: number[] = [];
  for (const facet of facets.values()) {
    for (const cell of facet.cells.values()) {
      const own = cell.trials.flatMap((trial) => (trial.score === null ? [] : [trial.score]));
      if (own.length > 0) {
        cell.score = Math.max(...own);
        scores.push(cell.score);
      } else {
        cell.failure = cell.trials.at(-1) ?? null;
      }
    }
  }
  return {
    xs: distinct(places.map((configuration) => configuration[xKnob] as KnobValue)),
    ys: distinct(places.map((configuration) => configuration[yKnob] as KnobValue)),
    facets: [...facets.entries()].sort(([a], [b]) => a.localeCompare(b)).map(([, facet]) => facet),
    scale: scoreScale(scores, noise),
  };
}

/** A bin spans at least this factor in all before its edges are set on a logarithmic scale. */
const LOG_FACTOR = 8;

/** Maps each value to the lower edge of its bin; null when there are few enough values, or they are no numbers. */
export function bins(values: readonly KnobValue[], most: number): ((value: KnobValue) => KnobValue) | null {
  const own = distinct(values);
  if (own.length <= most) return null;
  const numbers = own.filter((value) => typeof value === 'number');
  if (numbers.length < own.length) return null;
  const low = numbers[0] as number;
  const high = numbers.at(-1) as number;
  const logarithmic = low > 0 && high / low >= LOG_FACTOR;
  const edges = Array.from({ length: most }, (_, i) => {
    const edge = logarithmic ? low * (high / low) ** (i / most) : low + ((high - low) * i) / most;
    return Number.isInteger(low) && Number.isInteger(high) ? Math.round(edge) : edge;
  });
  return (value) => edges.findLast((edge) => edge <= Number(value)) ?? low;
}
