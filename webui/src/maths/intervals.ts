// Intervals and lower bounds in words. Pure.

import { formatShare } from './format';

/** The ends of an interval, as far as they are known. */
interface Ends {
  low?: number | null;
  high?: number | null;
}

/** `4 to 6`, or `from 4` where nothing has shown the other end; empty where there is no interval. */
export function intervalText({ low, high }: Ends, format: (value: number) => string): string {
  if (low == null) return high == null ? '' : `up to ${format(high)}`;
  return high == null ? `from ${format(low)}` : `${format(low)} to ${format(high)}`;
}

/** `at least ` where nothing was met that it did not follow. */
export const leastText = (atLeast: boolean | undefined): string => (atLeast ? 'at least ' : '');

/** Whether two intervals share a value; an end that is not known may lie anywhere, a missing interval too. */
export const overlap = (one: Ends, other: Ends): boolean =>
  (one.low ?? -Infinity) <= (other.high ?? Infinity) && (other.low ?? -Infinity) <= (one.high ?? Infinity);

/** How sure the intervals of a run are together. */
const TOGETHER = 0.95;

/**
 * What an interval of this confidence says. With several configurations compared with the default the agent shares
 * out the 5 % among them, so the confidence tells how many there are.
 */
export function confidenceMeaning(confidence: number): string {
  const compared = Math.round((1 - TOGETHER) / (1 - confidence));
  const name = `${formatShare(confidence)} interval`;
  return compared <= 1
    ? `${name}: in 95 of 100 such runs the true gain lies inside it.`
    : `${name}: ${compared} configurations were compared with the default, and the luckiest of several looks better ` +
        `than it is. So each interval is wider than one of 95 %: in 95 of 100 such runs the true gains of all ` +
        `${compared} lie inside theirs.`;
}
