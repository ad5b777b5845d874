// Axes of parallel coordinates: where a value lies on an axis of length 1, and which values a stretch of it holds.

import type { KnobValue } from './knobDiff';

export interface ParallelAxis {
  name: string;
  /** Values on the axis, ascending: all of them where they are few or words, else only the ends. */
  ticks: readonly { at: number; label: string }[];
  /** 0 = lower end, 1 = upper end; NaN for what is not on the axis. */
  position(value: KnobValue | null | undefined): number;
  /** The lowest and highest value between two positions; null when none lies there. */
  within(from: number, to: number): { low: KnobValue; high: KnobValue } | null;
}

const MOST_TICKS = 8;
const LOG_FACTOR = 8;

/** How far two labels above each other are apart at least. */
const LINE_PX = 14;

/** Those of an axis so many pixels long whose labels do not lie on each other; both ends stay. */
export function labelsApart(ticks: ParallelAxis['ticks'], lengthPx: number): ParallelAxis['ticks'] {
  const last = ticks.at(-1);
  const kept: ParallelAxis['ticks'][number][] = [];
  for (const tick of ticks) {
    const clear = (other: (typeof kept)[number] | undefined) =>
      other === undefined || Math.abs(tick.at - other.at) * lengthPx >= LINE_PX;
    if (clear(kept.at(-1)) && (tick === last || clear(last))) kept.push(tick);
  }
  return kept;
}

/** An axis for the values that occur; numbers lie on a line (logarithmic when they span far), words evenly. */
export function parallelAxis(
  name: string,
  values: readonly KnobValue[],
  format: (value: KnobValue) => string = String,
): ParallelAxis {
  const own = [...new Set(values)].sort((a, b) =>
    typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b)),
  );
  const numeric = own.every((value) => typeof value === 'number');
  const low = Number(own[0]);
  const high = Number(own.at(-1));
  const logarithmic = numeric && low > 0 && high / low >= LOG_FACTOR;
  const place = new Map(
    own.map((value, index) => [value, own.length === 1 ? 0.5 : index / (own.length - 1)]),
  );
  const position = (value: KnobValue | null | undefined): number => {
    if (value === null || value === undefined) return Number.NaN;
    if (!numeric) return place.get(value) ?? Number.NaN;
    const number = Number(value);
    if (high === low) return 0.5;
    return logarithmic ? Math.log(number / low) / Math.log(high / low) : (number - low) / (high - low);
  };
  const ticked = own.length <= MOST_TICKS || !numeric ? own : [own[0], own.at(-1)];
  return {
    name,
    position,
    ticks: ticked.flatMap((value) =>
      value === undefined ? [] : [{ at: position(value), label: format(value) }],
    ),
    within(from, to) {
      const [bottom, top] = [Math.min(from, to), Math.max(from, to)];
      const inside = own.filter((value) => position(value) >= bottom && position(value) <= top);
      const [first, last] = [inside[0], inside.at(-1)];
      return first === undefined || last === undefined ? null : { low: first, high: last };
    },
  };
}
