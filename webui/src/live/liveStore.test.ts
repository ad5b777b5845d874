import { describe, expect, it } from 'vitest';
import type { CounterValues } from '../api/generated';
import { counterSample, loadProgress } from '../test/records';
import { LiveStore } from './liveStore';

const at = (time: number, change: Partial<CounterValues> = {}) => ({ ...counterSample(time), ...change });

describe('LiveStore', () => {
  it('gives the points of a window, in seconds before the newest sample', () => {
    const store = new LiveStore();
    store.addHistory([at(100), at(101), at(102)]);
    expect(store.now).toBe(102);
    expect(store.points('cpu0.user', 102, 60).map(({ x }) => x)).toEqual([-2, -1, 0]);
  });

  it('does not take a sample twice when history and stream overlap', () => {
    const store = new LiveStore();
    store.addHistory([at(100), at(101)]);
    const before = store.version;
    store.addSample(at(101));
    expect(store.version).toBe(before);
    store.addSample(at(102));
    store.addHistory([at(100), at(101)]);
    expect(store.points('cpu0.user', 102, 60).map(({ x }) => x)).toEqual([-2, -1, 0]);
  });

  it('shows a source that could not be read as a gap and tells why', () => {
    const store = new LiveStore();
    store.addHistory([at(100), at(101, { memory: null, missing: { memory: 'permission denied' } })]);
    expect(store.points('pageCache', 101, 60).map(({ y }) => y)).toEqual([2 ** 30, Number.NaN]);
    expect(store.missing).toEqual({ memory: 'permission denied' });
  });

  it('leaves a gap where no samples were taken', () => {
    const store = new LiveStore();
    store.addHistory([at(100), at(110)]);
    expect(store.points('runQueue', 110, 60)).toEqual([
      { x: -10, y: 2 },
      { x: -1, y: Number.NaN },
      { x: 0, y: 2 },
    ]);
  });

  it('counts nice time as user time', () => {
    const store = new LiveStore();
    store.addHistory([at(100)]);
    expect(store.points('cpu0.user', 100, 60)).toEqual([{ x: 0, y: 25 }]);
  });

  it('breaks the load curve when the generator pauses', () => {
    let clock = 0;
    const store = new LiveStore(() => clock);
    store.addHistory([at(100)]);
    clock = 0.5;
    store.addLoad(loadProgress({ goodput_mbps: 700 }));
    for (const time of [101, 102, 104]) store.addSample(at(time));
    const points = store.loadPoints('goodput', 104, 60);
    expect(points[0]).toEqual({ x: -3.5, y: 700 });
    expect(points[1]?.y).toBeNaN();
  });
});
