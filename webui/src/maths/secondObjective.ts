// The names and figures of second objectives.

import { formatMbps, formatMegabytes, formatMicroseconds } from './format';

/** Costs come in MB and in ms. */
const COSTS: Readonly<Record<string, (value: number) => string>> = {
  rss: (megabytes) => formatMegabytes(1e6 * megabytes),
  p999: (milliseconds) => formatMicroseconds(1e3 * milliseconds),
};

/** Whether less of a second objective is better. */
export const isCost = (objective: string): boolean => objective in COSTS;

/** A figure of a second objective with its unit. */
export const formatSecond = (objective: string, value: number | null | undefined): string =>
  value == null ? formatMbps(null) : (COSTS[objective] ?? formatMbps)(value);
