// Where the values of a knob lie on an axis of a chart: numbers on a line, logarithmic where the knob's scale is, and
// choices at even distances.

import type { Knob } from '../api/generated';
import { formatCount } from './format';
import type { KnobValue } from './knobDiff';

export interface KnobAxis {
  place: (value: KnobValue) => number;
  /** The value that lies at a place. */
  formatX: (x: number) => string;
  /** Places that get a label, ascending. */
  ticks: number[];
}

/** Labels lie at least this share of the axis apart. */
const APART = 0.14;

export function knobAxis(
  { kind, scale, choices = [] }: Pick<Knob, 'kind' | 'scale' | 'choices'>,
  values: readonly KnobValue[],
): KnobAxis {
  if (kind !== 'integer') {
    const place = (value: KnobValue) => choices.indexOf(value);
    return {
      place,
      formatX: (x) => String(choices[Math.round(x)] ?? ''),
      ticks: [...new Set(values)].map(place).sort((a, b) => a - b),
    };
  }
  const numbers = [...new Set(values)].map(Number).sort((a, b) => a - b);
  const logarithmic = scale === 'log' && (numbers[0] ?? 0) > 0;
  const place = (value: KnobValue) => (logarithmic ? Math.log10(Number(value)) : Number(value));
  const places = numbers.map(place);
  const apart = APART * ((places.at(-1) ?? 0) - (places[0] ?? 0));
  const ticks: number[] = [];
  for (const at of places) if (at >= (ticks.at(-1) ?? -Infinity) + apart) ticks.push(at);
  return {
    place,
    formatX: (x) => formatCount(logarithmic ? 10 ** x : x),
    ticks,
  };
}
