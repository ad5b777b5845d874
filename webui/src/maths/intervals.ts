// Intervals and lower bounds in words. Pure.

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
