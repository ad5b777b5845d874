import { expect, it } from 'vitest';
import type { ArchitectureBest } from '../../api/generated';
import { barsOf } from './architectureBars';

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

const run = (id: number, host = 'atlas') => ({ id, host });

it('sorts the bars of each workload, names the run where an architecture occurs twice, and has a scale for each', () => {
  const architectures = [
    best(1, 'specweb99', 'symped', 250),
    best(2, 'specweb99', 'symped', 260),
    best(2, 'specweb99', 'knot', 300),
    best(3, 'tcp-1k', 'symped', 30),
  ];
  expect(barsOf({ runs: [run(1), run(2), run(3)], architectures })).toEqual([
    {
      title: 'specweb99',
      bars: [
        { name: 'knot', value: 300 },
        { name: 'symped, run 2', value: 260 },
        { name: 'symped, run 1', value: 250 },
      ],
      max: 300,
    },
    { title: 'tcp-1k', bars: [{ name: 'symped', value: 30 }], max: 30 },
  ]);
});

it('what different hosts reach is on no common scale', () => {
  const architectures = [best(1, 'specweb99', 'symped', 250), best(2, 'specweb99', 'symped', 2600)];
  const bars = barsOf({ runs: [run(1), run(2, 'rhea')], architectures });
  expect(bars.map(({ title, max }) => [title, max])).toEqual([
    ['specweb99 on atlas', 250],
    ['specweb99 on rhea', 2600],
  ]);
});
