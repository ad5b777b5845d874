// The cells of a heat map over time: a row for each of many series, and of each the sum of some columns. Pure.

import type { Point } from '../maths/decimate';
import type { SampleStore } from '../samples/sampleStore';
import type { Stretch } from './timeView';

export interface CellRow {
  name: string;
  /** Their sum is what the row shows; names in the store. */
  columns: readonly string[];
}

export interface TimeCells {
  /** Cells of a row. */
  width: number;
  /** Row by row, the oldest first; NaN where there is no sample. */
  values: Float32Array;
}

/** A longer time without a sample is no lateness. */
const LATE_CELLS = 2;

/** The sums of each row, in cells of `step` seconds. */
export function timeCells(
  store: Pick<SampleStore, 'points'>,
  rows: readonly CellRow[],
  { now, window }: Stretch,
  step: number,
): TimeCells {
  const width = Math.max(1, Math.ceil(window / step));
  const values = new Float32Array(width * rows.length).fill(Number.NaN);
  rows.forEach(({ columns }, row) => {
    const [first = [], ...others] = columns.map((column) => store.points(column, now, window));
    let before = Number.NEGATIVE_INFINITY;
    first.forEach(({ x }, index) => {
      const cell = width - 1 + Math.floor((now + x) / step) - Math.floor(now / step);
      const sum = [first, ...others].reduce((so, points) => so + (points[index] as Point).y, 0);
      // A sample may come a little early or late, and so leave out a cell.
      const from = cell - before <= LATE_CELLS ? before + 1 : cell;
      if (cell >= 0) values.fill(sum, row * width + Math.max(0, from), row * width + cell + 1);
      before = cell;
    });
  });
  return { width, values };
}

export interface RowSummary {
  now: number;
  mean: number;
  max: number;
}

/** The newest value of a row (NaN where that cell is empty), and mean and highest of all. */
export function rowSummary({ width, values }: TimeCells, row: number): RowSummary {
  const own = values.subarray(row * width, (row + 1) * width);
  const known = own.filter((value) => !Number.isNaN(value));
  if (known.length === 0) return { now: Number.NaN, mean: Number.NaN, max: Number.NaN };
  return {
    now: own.at(-1) ?? Number.NaN,
    mean: known.reduce((sum, value) => sum + value, 0) / known.length,
    max: known.reduce((most, value) => Math.max(most, value)),
  };
}
