import { describe, expect, it } from 'vitest';
import type { CounterValues } from '../api/generated';
import { counterSample, loadProgress } from '../test/records';
import { SampleStore } from './sampleStore';

const at = (time: number, change: Partial<CounterValues> = {}) => ({ ...counterSample(time), ...change });

describe('SampleStore', () => {
  it('gives the points of a window, in seconds before the newest sample', () => {
    const store = new SampleStore();
    store.addHistory([at(100), at(101), at(102)]);
    expect(store.now).toBe(102);
    expect(store.points('cpu0.user', 102, 60).map(({ x }) => x)).toEqual([-2, -1, 0]);
  });

  it('does not take a sample twice when history and stream overlap', () => {
    const store = new SampleStore();
    store.addHistory([at(100), at(101)]);
    const before = store.version;
    store.addSample(at(101));
    expect(store.version).toBe(before);
    store.addSample(at(102));
    store.addHistory([at(100), at(101)]);
    expect(store.points('cpu0.user', 102, 60).map(({ x }) => x)).toEqual([-2, -1, 0]);
  });

  it('shows a source that could not be read as a gap and tells why', () => {
    const store = new SampleStore();
    store.addHistory([at(100), at(101, { memory: null, missing: { memory: 'permission denied' } })]);
    expect(store.points('pageCache', 101, 60).map(({ y }) => y)).toEqual([2 ** 30, Number.NaN]);
    expect(store.missing).toEqual({ memory: 'permission denied' });
  });

  it('leaves a gap where no samples were taken', () => {
    const store = new SampleStore();
    store.addHistory([at(100), at(110)]);
    expect(store.points('runQueue', 110, 60)).toEqual([
      { x: -10, y: 2 },
      { x: -1, y: Number.NaN },
      { x: 0, y: 2 },
    ]);
  });

  it('counts nice time as user time', () => {
    const store = new SampleStore();
    store.addHistory([at(100)]);
    expect(store.points('cpu0.user', 100, 60)).toEqual([{ x: 0, y: 25 }]);
  });

  const loaded = (time: number, trial: number, rate_rps: number, loop: 'open' | 'closed' = 'open') =>
    at(time, { load: { ...loadProgress({ goodput_mbps: 700 }), run_id: 1, trial, loop, rate_rps } });

  it('draws the load while there is one, and a gap while there is none', () => {
    const store = new SampleStore();
    store.addHistory([at(100), loaded(101, 1, 1000), at(102)]);
    expect(store.points('goodput', 102, 60).map(({ y }) => y)).toEqual([Number.NaN, 700, Number.NaN]);
  });

  it('draws what is offered, which a closed loop leaves to the server', () => {
    const store = new SampleStore();
    store.addHistory([loaded(101, 1, 1000), loaded(102, 2, 64, 'closed')]);
    expect(store.points('offered', 102, 60).map(({ y }) => y)).toEqual([1000, Number.NaN]);
    expect(store.points('goodput', 102, 60).map(({ y }) => y)).toEqual([700, 700]);
  });

  it('marks where trials and rates begin', () => {
    const store = new SampleStore();
    store.addHistory([
      at(100),
      loaded(101, 1, 1000),
      loaded(102, 1, 1000),
      loaded(103, 1, 2000),
      loaded(104, 2, 1000),
    ]);
    expect(store.marks(104, 60).map(({ x, kind, trial, rate }) => [x, kind, trial, rate])).toEqual([
      [-3, 'trial', 1, 1000],
      [-1, 'rate', 1, 2000],
      [0, 'trial', 2, 1000],
    ]);
  });

  it('draws a line through samples that stand for many seconds each', () => {
    const store = new SampleStore();
    store.addHistory([at(100, { interval_s: 12 }), at(112, { interval_s: 12 })]);
    expect(store.points('runQueue', 112, 3600).map(({ y }) => y)).toEqual([2, 2]);
  });

  it('keeps the whole hour when samples come ten times a second, of each second the mean', () => {
    const store = new SampleStore(100);
    for (let tenth = 0; tenth < 900; tenth++) {
      const sample = at(1000 + tenth / 10, { interval_s: 0.1 });
      if (sample.cpu) sample.cpu.run_queue = tenth % 10;
      store.addSample(sample);
    }
    const points = store.points('runQueue', store.now, 90);
    expect(points).toHaveLength(90);
    expect(points.map(({ y }) => y).every((mean) => Math.abs(mean - 4.5) < 1e-9)).toBe(true);
  });

  it('does not mix two trials or rates that share a second', () => {
    const store = new SampleStore();
    for (const [tenth, rate] of [
      [0, 1000],
      [1, 1000],
      [2, 2000],
    ] as const) {
      store.addSample({ ...loaded(100 + tenth / 10, 1, rate), interval_s: 0.1 });
    }
    expect(store.marks(store.now, 60).map(({ rate }) => rate)).toEqual([1000, 2000]);
  });

  it('a frozen copy stays as it was when it was taken', () => {
    const store = new SampleStore();
    store.addSample(at(100, { server_workers: { workers: [] } }));
    store.addSample(at(101));
    const frozen = store.frozen();
    const before = frozen.points('runQueue', frozen.now, 60);
    store.addSample(at(102, { missing: { memory: 'gone' } }));
    store.addHistory([at(50), at(51)]);
    expect(frozen.now).toBe(101);
    expect(frozen.points('runQueue', frozen.now, 60)).toEqual(before);
    expect(frozen.missing).toEqual({});
  });

  it('sums replies by the hundred of their status', () => {
    const store = new SampleStore();
    store.addHistory([
      at(100, { server: { replies_200_per_s: 5, replies_206_per_s: 2, replies_404_per_s: 1 } }),
    ]);
    expect(store.points('replies2xx', 100, 60)[0]?.y).toBe(7);
    expect(store.points('replies4xx', 100, 60)[0]?.y).toBe(1);
    expect(store.points('replies5xx', 100, 60)[0]?.y).toBe(0);
  });

  it('divides accepted connections by accept phases', () => {
    const store = new SampleStore();
    store.addHistory([at(100, { server: { connections_accepted_per_s: 300, accept_phases_per_s: 100 } })]);
    expect(store.points('acceptsPerPhase', 100, 60)[0]?.y).toBe(3);
  });
});
