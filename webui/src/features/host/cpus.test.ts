import { expect, it } from 'vitest';
import { cpuRanges, groupBy } from './cpus';

it('writes neighbouring CPUs as ranges', () => {
  expect(cpuRanges([5, 0, 2, 1])).toBe('0–2, 5');
  expect(cpuRanges([3])).toBe('3');
  expect(cpuRanges([])).toBe('');
});

it('groups in ascending order', () => {
  expect(groupBy([{ n: 2 }, { n: 1 }, { n: 2 }], ({ n }) => n).map(([n, rows]) => [n, rows.length])).toEqual([
    [1, 1],
    [2, 2],
  ]);
});
