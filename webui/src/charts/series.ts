// What a chart over time makes of its series before it draws them. Pure.

import type { Point } from '../maths/decimate';

/** A value older than this many seconds is not what is going on now. */
const NOW_S = 5;

/** The newest value; NaN when it is not of now. In a time that is `past`, the last value, however old. */
export function latestValue(points: readonly Point[], past = false): number {
  const last = points.findLast(({ y }) => !Number.isNaN(y));
  return last !== undefined && (past || last.x >= -NOW_S) ? last.y : Number.NaN;
}

/**
 * Each series on top of those before it: Chart.js would do the same for every redraw, with a table of all values.
 * The series have the same times; a missing value adds nothing, and stays a gap.
 */
export function piledUp(series: readonly (readonly Point[])[]): Point[][] {
  const heights = new Float64Array(series[0]?.length ?? 0);
  return series.map((points) =>
    points.map(({ x, y }, index) => {
      if (Number.isNaN(y)) return { x, y };
      const height = (heights[index] ?? 0) + y;
      heights[index] = height;
      return { x, y: height };
    }),
  );
}

/** Whether a point has a value, and neither the one before it nor the one after. */
export function isLonely(points: readonly Point[], index: number): boolean {
  const has = (at: number) => !Number.isNaN(points[at]?.y ?? Number.NaN);
  return has(index) && !has(index - 1) && !has(index + 1);
}
