import { expect, it } from 'vitest';
import { SampleStore } from '../samples/sampleStore';
import { counterSample } from '../test/records';
import { rowSummary, timeCells } from './timeCells';

/** Samples of many CPUs, each as busy as its number says. */
function filled(cpus: number, times: readonly number[]): SampleStore {
  const store = new SampleStore();
  for (const time of times) {
    const sample = counterSample(time);
    const shares = { user: 0, nice: 0, system: 10, idle: 0, iowait: 0, irq: 0, softirq: 0, steal: 0 };
    const own = Array.from({ length: cpus }, (_, cpu) => ({ cpu, ...shares, user: cpu / 2 }));
    store.addSample({ ...sample, cpu: { ...sample.cpu, cpus: own } as never });
  }
  return store;
}

const rows = (cpus: number) =>
  Array.from({ length: cpus }, (_, cpu) => ({
    name: `CPU ${cpu}`,
    columns: [`cpu${cpu}.user`, `cpu${cpu}.system`],
  }));

it('128 CPUs are 128 rows, each the sum of its states', () => {
  const store = filled(128, [100, 101, 102, 103]);
  const cells = timeCells(store, rows(128), { now: 103, window: 4 }, 1);
  expect(cells.width).toBe(4);
  expect(cells.values).toHaveLength(512);
  expect(rowSummary(cells, 0)).toMatchObject({ now: 10, mean: 10 });
  expect(rowSummary(cells, 127)).toMatchObject({ now: 73.5, max: 73.5 });
});

it('seconds without a sample stay empty', () => {
  const store = filled(1, [100, 110]);
  const { values } = timeCells(store, rows(1), { now: 110, window: 10 }, 1);
  expect(values.at(-1)).toBe(10);
  expect([...values.slice(0, 8)].every(Number.isNaN)).toBe(true);
});

it('a sample that comes a little late leaves no hole', () => {
  const { values } = timeCells(filled(1, [100.9, 102.1, 103]), rows(1), { now: 103, window: 3 }, 1);
  expect([...values]).toEqual([10, 10, 10]);
});
