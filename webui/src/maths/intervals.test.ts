import { expect, it } from 'vitest';
import { intervalText, leastText } from './intervals';

it('an interval is told as far as its ends are known', () => {
  expect(intervalText({ low: 4, high: 6 }, String)).toBe('4 to 6');
  expect(intervalText({ low: 4, high: null }, String)).toBe('from 4');
  expect(intervalText({ low: null, high: 6 }, String)).toBe('up to 6');
  expect(intervalText({ low: null, high: null }, String)).toBe('');
});

it('a lower bound is told as one', () => {
  expect([true, false, undefined].map(leastText)).toEqual(['at least ', '', '']);
});
