import { expect, it } from 'vitest';
import type { LiveArm, LiveSampleData, LiveSampleReply } from '../../api/generated';
import { ArmStore } from './armStore';

const ARM: LiveArm = {
  requests_per_s: 100,
  cpu_s_per_1000: 0.2,
  service_ms: 3,
  errors_per_s: 0,
  waiting: 0,
  bytes_per_s: 1000,
};

const at = (seconds: number, data: Partial<LiveSampleData>): LiveSampleReply => ({
  at: new Date(1000 * seconds).toISOString(),
  data: { share: 0, production: ARM, baseline: null, canary: null, change: null, budget: null, ...data },
});

it('gives each arm its figures in seconds before the right edge', () => {
  const canary = { ...ARM, service_ms: 5 };
  const store = new ArmStore([at(996, {}), at(1002, { share: 0.05, baseline: ARM, canary })]);
  expect(store.now).toBe(1002);
  expect(store.points('production.service_ms', 1002, 60)).toEqual([
    { x: -6, y: 3 },
    { x: 0, y: 3 },
  ]);
  expect(store.points('canary.service_ms', 1002, 60).at(-1)).toEqual({ x: 0, y: 5 });
  expect(store.points('share', 1002, 60).map(({ y }) => y)).toEqual([0, 0.05]);
});

it('has no value where an arm did not run, where a figure is not known, and for an open edge', () => {
  const silent = { ...ARM, cpu_s_per_1000: null };
  const store = new ArmStore([
    at(1000, { production: silent, change: { cost: [-0.1, null], time: null, errors: [-0.01, 0.02] } }),
  ]);
  const value = (column: string) => store.points(column, 1000, 60)[0]?.y;
  expect(value('canary.service_ms')).toBeNaN();
  expect(value('production.cpu_s_per_1000')).toBeNaN();
  expect([value('cost.low'), value('cost.high'), value('time.low')]).toEqual([-0.1, Number.NaN, Number.NaN]);
});

it('leaves a gap where no sample came for a while, and none between samples ten seconds apart', () => {
  const store = new ArmStore([at(1000, {}), at(1010, {}), at(1100, {})]);
  const values = store.points('production.service_ms', 1100, 300).map(({ y }) => y);
  expect(values).toEqual([3, 3, Number.NaN, 3]);
});

it('shows no more points than a chart can, the mean of those in between', () => {
  const samples = Array.from({ length: 1800 }, (_, index) => at(2 * index, { share: index % 2 }));
  const points = new ArmStore(samples).points('share', 3598, 3600);
  expect(points.length).toBeLessThanOrEqual(301);
  expect(points[10]?.y).toBeCloseTo(0.5);
});

it('is empty without samples', () => {
  const store = new ArmStore([]);
  expect(store.now).toBeNaN();
  expect(store.points('share', 0, 60)).toEqual([]);
});
