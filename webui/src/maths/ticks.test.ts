import { expect, it } from 'vitest';
import { byteTicks, formatSecondsAgo, tickText, timeTicks } from './ticks';

it('a minute is marked every ten seconds, a quarter of an hour every three minutes', () => {
  expect(timeTicks(60)).toEqual([-60, -50, -40, -30, -20, -10, 0]);
  expect(timeTicks(900)).toEqual([-900, -720, -540, -360, -180, 0]);
});

it('times are written as minutes and seconds ago', () => {
  expect(formatSecondsAgo(-90)).toBe('−1:30');
  expect(formatSecondsAgo(0)).toBe('now');
});

it.each([
  ['0.500 /s', '0.5 /s'],
  ['1.00', '1'],
  ['40.0 k/s', '40 k/s'],
  ['100 %', '100 %'],
  ['10\u202f000', '10\u202f000'],
  ['1.25 GiB', '1.25 GiB'],
])('a tick %s is written %s', (formatted, text) => {
  expect(tickText(formatted)).toBe(text);
});

it('bytes are marked in powers of two', () => {
  expect(byteTicks(22 * 2 ** 30).map((bytes) => bytes / 2 ** 30)).toEqual([0, 8, 16]);
  expect(byteTicks(0)).toEqual([0]);
});
