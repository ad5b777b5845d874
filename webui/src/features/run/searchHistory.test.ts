import { expect, it } from 'vitest';
import type { TrialSummary } from '../../api/generated';
import { trial } from '../../test/records';
import { searchHistory } from './searchHistory';

const of = (number: number, change: Partial<TrialSummary>) =>
  trial(number, { configuration_hash: String(number), ...change });

it('the best so far is the configuration with the highest verified score of the search', () => {
  const trials = [
    of(1, { purpose: 'calibration', score: 9000 }),
    of(3, { score: 400 }),
    of(2, { score: 500 }),
    of(4, { score: null, verdict: 'stopped-early', estimated_score: 900 }),
    of(5, { score: 700 }),
    of(6, { purpose: 'confirmation', score: 800 }),
  ];
  const { best, trials: points } = searchHistory(trials);
  expect(best).toEqual([
    { x: 2, y: 500 },
    { x: 3, y: 500 },
    { x: 4, y: 500 },
    { x: 5, y: 700 },
  ]);
  expect(points.filter(({ crossed }) => crossed)).toEqual([{ x: 4, y: 900, crossed: true }]);
});

it('a lucky trial counts no more than its repeats, as on the map', () => {
  const lucky = [700, 500].map((score, index) => of(index + 1, { score, configuration_hash: 'same' }));
  expect(searchHistory(lucky).best.map(({ y }) => y)).toEqual([700, 600]);
});

it('a search in which nothing was verified has no best', () => {
  expect(searchHistory([trial(2, { score: null, verdict: 'crashed' })])).toEqual({ trials: [], best: [] });
});
