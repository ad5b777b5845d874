import { expect, it } from 'vitest';
import type { ArchitectureBest } from '../../api/generated';
import { barsByWorkload } from './architectureBars';

const best = (
  run_id: number,
  workload: string,
  architecture: string,
  peak_mbps: number,
): ArchitectureBest => ({
  run_id,
  workload,
  architecture,
  trial: 1,
  score_mbps: peak_mbps / 2,
  peak_mbps,
});

it('sorts the bars of each workload, and names the run where an architecture occurs twice', () => {
  const bars = barsByWorkload([
    best(1, 'specweb99', 'symped', 250),
    best(2, 'specweb99', 'symped', 260),
    best(2, 'specweb99', 'knot', 300),
    best(3, 'tcp-1k', 'symped', 30),
  ]);
  expect(bars).toEqual([
    [
      'specweb99',
      [
        { name: 'knot', value: 300 },
        { name: 'symped, run 2', value: 260 },
        { name: 'symped, run 1', value: 250 },
      ],
    ],
    ['tcp-1k', [{ name: 'symped', value: 30 }]],
  ]);
});
