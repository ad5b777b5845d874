import { expect, it } from 'vitest';
import type { Mark } from '../samples/sampleStore';
import { markAt, partOf, ratesOf, trialsOf } from './timeView';

const mark = (x: number, kind: Mark['kind'], trial: number): Mark => ({ x, kind, trial, rate: 1000 });
const MARKS = [mark(-50, 'trial', 3), mark(-40, 'rate', 3), mark(-30, 'trial', 4)];

it('a part lies where it was dragged, whichever way', () => {
  const whole = { now: 1000, window: 60 };
  expect(partOf(whole, -40, -10)).toEqual({ now: 990, window: 30 });
  expect(partOf(whole, -10, -40)).toEqual({ now: 990, window: 30 });
});

it('a part does not leave the view, and is never too short', () => {
  const whole = { now: 1000, window: 60 };
  expect(partOf(whole, -90, 10)).toEqual(whole);
  expect(partOf(whole, -20, -19)).toEqual({ now: 981, window: 5 });
  expect(partOf(whole, -60, -59)).toEqual({ now: 945, window: 5 });
});

it('a trial lasts until the next one begins, the last one until now', () => {
  expect(trialsOf({ marks: MARKS })).toEqual([
    { trial: 3, from: -50, to: -30 },
    { trial: 4, from: -30, to: 0 },
  ]);
});

it('a rate lasts until the next one begins, also that of the next trial', () => {
  expect(ratesOf({ marks: MARKS }).map(({ from, to }) => [from, to])).toEqual([
    [-50, -40],
    [-40, -30],
    [-30, 0],
  ]);
});

it('what is measured at a time is what began last', () => {
  expect(markAt(MARKS, -35)?.kind).toBe('rate');
  expect(markAt(MARKS, -55)).toBeNull();
});
