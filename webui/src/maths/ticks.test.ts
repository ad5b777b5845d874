import { expect, it } from 'vitest';
import {
  byteTicks,
  formatSecondsAgo,
  logTicks,
  marksApart,
  shortTickText,
  tickText,
  timeTicks,
} from './ticks';

it('a minute is marked every ten seconds, a quarter of an hour every three minutes', () => {
  expect(timeTicks(60)).toEqual([-60, -50, -40, -30, -20, -10, 0]);
  expect(timeTicks(900)).toEqual([-900, -720, -540, -360, -180, 0]);
});

it('a narrow axis has fewer marks, a short one finer ones', () => {
  expect(timeTicks(300, 3)).toEqual([-240, -120, 0]);
  expect(timeTicks(4.3)).toEqual([-4, -3, -2, -1, 0]);
});

it('times are written as minutes and seconds ago', () => {
  expect(formatSecondsAgo(-90)).toBe('−1:30');
  expect(formatSecondsAgo(0)).toBe('now');
});

it.each([
  ['0.500/s', '0.5/s'],
  ['1.00', '1'],
  ['40.0 k/s', '40 k/s'],
  ['100 %', '100 %'],
  ['10,000', '10,000'],
  ['1.25 GiB', '1.25 GiB'],
])('a tick %s is written %s', (formatted, text) => {
  expect(tickText(formatted)).toBe(text);
});

it('a tick in a narrow room says a rate by its sign', () => {
  expect(shortTickText('20,000\u00a0requests/s')).toBe('20,000/s');
  expect(shortTickText('1.50\u00a0GiB')).toBe('1.5\u00a0GiB');
});

it('bytes are marked in powers of two', () => {
  expect(byteTicks(22 * 2 ** 30).map((bytes) => bytes / 2 ** 30)).toEqual([0, 8, 16]);
  expect(byteTicks(0)).toEqual([0]);
  expect(byteTicks(1)).toEqual([0, 1]);
});

it('a logarithmic axis is marked at 1, 2 and 5, or at powers of ten where it spans many', () => {
  expect(logTicks(300, 6000)).toEqual([500, 1000, 2000, 5000]);
  expect(logTicks(1, 1e6)).toEqual([1, 100, 10_000, 1e6]);
  expect(logTicks(1, 1e4)).toEqual([1, 10, 100, 1000, 10_000]);
  expect(logTicks(0, 10)).toEqual([]);
});

it('marks whose texts would run into each other are left out, but not the last', () => {
  const marks = [1024, 4500, 8100, 8800, 15_000];
  const on = (lengthPx: number) => marksApart(marks, String, { low: 0, high: 15_000, lengthPx });
  expect(on(1000)).toEqual(marks);
  expect(on(300)).toEqual([1024, 4500, 8100, 15_000]);
  expect(on(80)).toEqual([1024, 15_000]);
  expect(on(10)).toEqual([15_000]);
  expect(marksApart([], String, { low: 0, high: 1, lengthPx: 100 })).toEqual([]);
  expect(marksApart([7], String, { low: 7, high: 7, lengthPx: 100 })).toEqual([7]);
});
