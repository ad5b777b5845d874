import { expect, it } from 'vitest';
import { confidenceMeaning, intervalText, leastText, overlap } from './intervals';

it('an interval is told as far as its ends are known', () => {
  expect(intervalText({ low: 4, high: 6 }, String)).toBe('4 to 6');
  expect(intervalText({ low: 4, high: null }, String)).toBe('from 4');
  expect(intervalText({ low: null, high: 6 }, String)).toBe('up to 6');
  expect(intervalText({ low: null, high: null }, String)).toBe('');
});

it('a lower bound is told as one', () => {
  expect([true, false, undefined].map(leastText)).toEqual(['at least ', '', '']);
});

it('says that intervals overlap, also where an end of them is not known', () => {
  expect(overlap({ low: 1, high: 3 }, { low: 2, high: 4 })).toBe(true);
  expect(overlap({ low: 1, high: 2 }, { low: 3, high: 4 })).toBe(false);
  expect(overlap({ low: 1, high: null }, { low: 3, high: 4 })).toBe(true);
  expect(overlap({ low: 5, high: null }, { low: 3, high: 4 })).toBe(false);
  expect(overlap({}, { low: 3, high: 4 })).toBe(true);
});

it('says what an interval of 98.3 % is for', () => {
  expect(confidenceMeaning(0.95)).toBe(
    '95\u00a0% interval: in 95 of 100 such runs the true gain lies inside it.',
  );
  expect(confidenceMeaning(1 - 0.05 / 3)).toMatch(/^98\.3\u00a0% interval: 3 configurations were compared/);
});
