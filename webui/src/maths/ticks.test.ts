import { expect, it } from 'vitest';
import { formatSecondsAgo, timeTicks } from './ticks';

it('a minute is marked every ten seconds, a quarter of an hour every three minutes', () => {
  expect(timeTicks(60)).toEqual([-60, -50, -40, -30, -20, -10, 0]);
  expect(timeTicks(900)).toEqual([-900, -720, -540, -360, -180, 0]);
});

it('times are written as minutes and seconds ago', () => {
  expect(formatSecondsAgo(-90)).toBe('−1:30');
  expect(formatSecondsAgo(0)).toBe('now');
});
