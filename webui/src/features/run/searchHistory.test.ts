import { expect, it } from 'vitest';
import { trial } from '../../test/records';
import { searchHistory } from './searchHistory';

it('the best so far only rises, by verified scores of the search alone', () => {
  const trials = [
    trial(1, { purpose: 'calibration', score: 9000 }),
    trial(3, { score: 400 }),
    trial(2, { score: 500 }),
    trial(4, { score: null, verdict: 'stopped-early', estimated_score: 900 }),
    trial(5, { score: 700 }),
    trial(6, { purpose: 'confirmation', score: 800 }),
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

it('a search in which nothing was verified has no best', () => {
  expect(searchHistory([trial(2, { score: null, verdict: 'crashed' })])).toEqual({ trials: [], best: [] });
});
