import { expect, it } from 'vitest';
import type { ComparedRun } from '../../api/generated';
import { differenceRows } from './differences';

const compared = (change: Partial<ComparedRun>): ComparedRun => ({
  id: 1,
  host: 'atlas',
  target: 'core',
  target_version: '0.1.0',
  workload: 'specweb99',
  preset: 'quick',
  strategy: 'random',
  objective: 'peak',
  second_objective: null,
  state: 'finished',
  tags: [],
  loop: 'open',
  ladder: [1000],
  trials: 9,
  confirmed: true,
  best: { workers: 4, sendfile: 'off' },
  gain: null,
  capacity_gain: null,
  capacity_at_least: false,
  scores_mbps: [],
  curve: [],
  rank: null,
  ...change,
});

it('shows only what differs, properties before knobs', () => {
  const rows = differenceRows(
    [compared({}), compared({ workload: 'w1', best: { workers: 8, sendfile: 'off' } })],
    false,
  );
  expect(rows.map(({ name, texts }) => [name, ...texts])).toEqual([
    ['Workload', 'specweb99', 'w1'],
    ['workers', '4', '8'],
  ]);
});

it('shows everything on request, and a knob that only one run has', () => {
  const rows = differenceRows([compared({}), compared({ best: { worker_processes: 2 } })], true);
  expect(rows.map(({ name }) => name)).toContain('Preset');
  expect(rows.find(({ name }) => name === 'worker_processes')?.texts).toEqual(['–', '2']);
});

it('a run without a ladder has a dash in its place', () => {
  const rows = differenceRows([compared({}), compared({ ladder: [] })], false);
  expect(rows.map(({ name, texts }) => [name, texts[1]])).toEqual([['Ladder', '–']]);
});
