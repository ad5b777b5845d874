// Fewer points than samples: a chart a thousand pixels wide shows no more than a few hundred.

import type { RingBuffer } from './ringBuffer';

export interface Point {
  x: number;
  y: number;
}

/** How many consecutive samples make one point, so that a window shows at most `maxPoints`. */
export function samplesPerPoint(windowSeconds: number, intervalSeconds: number, maxPoints: number): number {
  return Math.max(1, Math.ceil(windowSeconds / intervalSeconds / maxPoints));
}

/**
 * One column of the last `windowSeconds` before `now` as points, x in seconds before `now` (≤ 0).
 * Groups of `groupSize` samples become their mean; a group without any value becomes NaN, which leaves a gap.
 * Groups are counted on the clock and not from the first sample, so points do not change as the window moves.
 */
export function windowPoints(
  buffer: RingBuffer,
  column: number,
  now: number,
  windowSeconds: number,
  groupSize: number,
): Point[] {
  const points: Point[] = [];
  let group = Number.NaN;
  let sum = 0;
  let count = 0;
  let last = 0;
  const flush = () => {
    if (!Number.isNaN(group)) points.push({ x: last - now, y: count === 0 ? Number.NaN : sum / count });
  };
  for (let i = buffer.firstSince(now - windowSeconds); i < buffer.length; i++) {
    const time = buffer.time(i);
    if (time > now) break;
    const own = Math.floor(time / groupSize);
    if (own !== group) {
      flush();
      group = own;
      sum = 0;
      count = 0;
    }
    last = time;
    const value = buffer.value(i, column);
    if (!Number.isNaN(value)) {
      sum += value;
      count += 1;
    }
  }
  flush();
  return points;
}
