// Counters of any shape as names and texts. Pure.

import { formatNumber } from '../../maths/format';

/** `{a: {b: 1}, c: [2]}` as `a.b`, `c.0`; lists of sentences stay whole. */
export function flatCounters(of: unknown, prefix = ''): [string, string][] {
  if (typeof of === 'number') return [[prefix, formatNumber(of)]];
  if (typeof of === 'string' || typeof of === 'boolean') return [[prefix, String(of)]];
  if (typeof of !== 'object' || of === null) return [];
  return Object.entries(of).flatMap(([name, value]) =>
    flatCounters(value, prefix ? `${prefix}.${name}` : name),
  );
}
