import { expect, it } from 'vitest';
import { outcome, defaultConfiguration as standard, trial } from '../../test/records';
import { bestOf, configurationScores, standingTrials } from './configurationScores';

const of = (number: number, hash: string, change = {}) =>
  trial(number, { configuration_hash: hash, ...change });
const searched = [
  of(1, 'a', { score: 900 }),
  of(2, 'a', { score: 700 }),
  of(3, 'b', { score: 850 }),
  of(4, 'c', { score: null, estimated_score: 990, verdict: 'stopped-early' }),
  of(5, 'd', { score: null, verdict: 'crashed' }),
  of(6, 'a', { score: 2000, purpose: 'elimination' }),
];

it('a configuration has the mean of its scores in the search, or an estimate', () => {
  const scores = configurationScores(searched, null);
  expect([...scores]).toEqual([
    ['a', { score: 800, estimated: false }],
    ['b', { score: 850, estimated: false }],
    ['c', { score: 990, estimated: true }],
    ['d', { score: null, estimated: false }],
  ]);
  expect(bestOf(scores, null)).toBe('b');
});

it('what the confirmation has found takes its place, and what is recommended is the best', () => {
  const told = outcome({ best: { ...standard, workers: 4 } });
  const [first] = told.ranking;
  if (!first) throw new Error('no ranking');
  const ranked = {
    ...told,
    ranking: [
      {
        ...first,
        configuration: { ...standard, workers: 4 },
        configuration_hash: 'a',
        mean_score_mbps: 777,
      },
    ],
  };
  const scores = configurationScores(searched, ranked);
  expect(scores.get('a')).toEqual({ score: 777, estimated: false });
  expect(bestOf(scores, ranked)).toBe('a');
});

it('what was first measured after the search stands beside it after the confirmation', () => {
  const later = [
    ...searched,
    of(7, 'e', { score: 950, purpose: 'elimination' }),
    of(8, 'e', { score: 970, purpose: 'confirmation' }),
    of(9, 'f', { score: 1, purpose: 'calibration' }),
  ];
  const numbers = (told: Parameters<typeof standingTrials>[1]) =>
    standingTrials(later, told).map(({ number }) => number);
  expect(numbers(outcome({ confirmed: false }))).toEqual([1, 2, 3, 4, 5]);
  expect(numbers(outcome())).toEqual([1, 2, 3, 4, 5, 7, 8]);
  expect(configurationScores(later, outcome({ ranking: [] })).get('e')).toEqual({
    score: 960,
    estimated: false,
  });
});

it('nothing is the best where nothing was verified', () => {
  expect(bestOf(configurationScores([], null), null)).toBeUndefined();
});
