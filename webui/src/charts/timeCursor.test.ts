import { expect, it } from 'vitest';
import { valueAt } from './timeCursor';

const POINTS = [-30, -20, -10, -9].map((x) => ({ x, y: 100 + x }));

it('tells the value of the nearest point', () => {
  expect(valueAt(POINTS, -19, 60)).toBe(80);
  expect(valueAt(POINTS, -9.6, 60)).toBe(90);
  expect(valueAt(POINTS, -8, 60)).toBe(91);
});

it('tells nothing where no point is near', () => {
  expect(valueAt(POINTS, -15, 60)).toBeNaN();
  expect(valueAt(POINTS, 0, 60)).toBeNaN();
  expect(valueAt([], -5, 60)).toBeNaN();
});

it('in a long window points lie farther apart', () => {
  expect(valueAt(POINTS, -14, 3600)).toBe(90);
});
