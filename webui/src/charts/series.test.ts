import { expect, it } from 'vitest';
import { isLonely, latestValue, piledUp } from './series';

const gap = Number.NaN;

it('tells the newest value only while it is of now', () => {
  expect(
    latestValue([
      { x: -2, y: 7 },
      { x: 0, y: gap },
    ]),
  ).toBe(7);
  expect(
    latestValue([
      { x: -60, y: 7 },
      { x: 0, y: gap },
    ]),
  ).toBeNaN();
  expect(latestValue([])).toBeNaN();
});

it('tells the last value of a time that is over', () => {
  expect(
    latestValue(
      [
        { x: -60, y: 7 },
        { x: 0, y: gap },
      ],
      true,
    ),
  ).toBe(7);
});

it('puts each series on those before it and leaves gaps', () => {
  const at = (...ys: number[]) => ys.map((y, x) => ({ x, y }));
  expect(piledUp([at(1, 2, gap), at(10, gap, gap), at(100, 200, gap)])).toEqual([
    at(1, 2, gap),
    at(11, gap, gap),
    at(111, 202, gap),
  ]);
});

it('a value between two gaps is lonely, one beside another is not', () => {
  const points = [1, Number.NaN, 2, Number.NaN, 3, 4].map((y, x) => ({ x, y }));
  expect(points.map((_, index) => isLonely(points, index))).toEqual([true, false, true, false, false, false]);
});
