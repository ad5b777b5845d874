import { expect, it } from 'vitest';
import type { TrialSummary } from '../../api/generated';
import { defaultConfiguration, space, trial } from '../../test/records';
import { bestOf, configurationScores } from './configurationScores';
import { scatterPoints } from './scatterPoints';

const at = (number: number, workers: number, max_connections: number, change = {}) =>
  trial(number, {
    configuration: { ...defaultConfiguration, workers, max_connections },
    configuration_hash: `${workers} ${max_connections}`,
    ...change,
  });
const given = {
  space,
  current: null,
  axes: { x: 'max_connections', y: 'workers' },
  free: ['sendfile', 'workers', 'max_connections'],
  by: undefined,
  selected: 3,
  noise: 0.03,
};

const mapped = (change: { trials: TrialSummary[]; current?: TrialSummary['configuration'] }) => {
  const scores = configurationScores(change.trials, null);
  return scatterPoints({ ...given, ...change, scores, best: bestOf(scores, null) });
};

it('each configuration is one point at its own values, however unevenly they lie', () => {
  const { points, x } = mapped({
    trials: [
      at(2, 1, 100, { score: 500 }),
      at(3, 4, 10_000, { score: 900 }),
      at(4, 4, 10_000, { score: 920 }),
    ],
  });
  expect(points).toHaveLength(2);
  expect(points.map((point) => point.x)).toEqual([2, 4]);
  expect(points[1]).toMatchObject({ selected: true, trial: 4, text: 'best 910\u00a0Mbps', colour: 1 });
  expect(x.format(4)).toBe('10,000');
});

it('a trial that was stopped early is hollow, and one that failed has no colour', () => {
  const { points } = mapped({
    trials: [
      at(2, 1, 100),
      at(3, 2, 100, { score: null, estimated_score: 300, verdict: 'stopped-early' }),
      at(4, 3, 100, { score: null, verdict: 'crashed', reason: 'it died' }),
    ],
  });
  expect(points.map(({ estimated, colour }) => [estimated, colour === null])).toEqual([
    [false, false],
    [true, false],
    [false, true],
  ]);
  expect(points[2]?.told).toContain('crashed: it died');
});

it('the values of a third knob have shapes, side by side where they share a place', () => {
  const other = { ...defaultConfiguration, workers: 1, max_connections: 100, sendfile: 'blocking' };
  const { points, shapes, by } = mapped({
    trials: [at(2, 1, 100), trial(3, { configuration: other, configuration_hash: 'other' }), at(4, 1, 1000)],
  });
  expect([by, ...shapes]).toEqual(['sendfile', 'blocking', 'nonblocking']);
  expect(points.map(({ shape }) => shape)).toEqual([1, 0, 1]);
  expect(points[0]?.x).toBeGreaterThan(points[1]?.x ?? Number.NaN);
});

it('the axes reach to what is being measured, also before there is a point', () => {
  const current = { ...defaultConfiguration, workers: 8, max_connections: 1000 };
  const { points, x, y, place } = mapped({ trials: [], current });
  expect(points).toEqual([]);
  expect([x.low, x.high, y.low]).toEqual([3, 3, Math.log10(8)]);
  expect(place(current)).toEqual({ x: 3, y: Math.log10(8) });
});
