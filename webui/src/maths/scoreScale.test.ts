import { expect, it } from 'vitest';
import { scorePosition, scoreScale, scoreSteps } from './scoreScale';

const scaleOf = (scores: number[], noise: number | null) => {
  const scale = scoreScale(scores, noise);
  if (scale === null) throw new Error('no scale');
  return scale;
};

it('scores that noise alone could set apart have the same place', () => {
  const scale = scaleOf([93, 96, 100], 0.03);
  expect([93, 96, 100].map((score) => scorePosition(score, scale))).toEqual([1, 1, 1]);
  expect(scoreSteps(scale)).toEqual([{ from: 93, to: 100, position: 1 }]);
});

it('a score beyond the noise lies lower, and only a far one at the bottom', () => {
  const scale = scaleOf([90, 100], 0.03);
  expect(scorePosition(90, scale)).toBeCloseTo(0.8);
  const wide = scaleOf([20, 90, 100], 0.03);
  expect(scorePosition(90, wide)).toBeCloseTo(1 - 1 / 9);
  expect(scorePosition(20, wide)).toBe(0);
});

it('the steps of the scale lie side by side, from the best to the worst', () => {
  const steps = scoreSteps(scaleOf([50, 100], 0.05));
  expect(steps[0]?.to).toBe(100);
  expect(steps.at(-1)?.from).toBe(50);
  for (const [index, step] of steps.slice(1).entries()) expect(step.to).toBeCloseTo(steps[index]?.from ?? 0);
});

it('without a known noise the scale is even, and equal scores are all best', () => {
  expect(scorePosition(5, scaleOf([0, 10], null))).toBe(0.5);
  expect(scorePosition(5, scaleOf([5, 5], null))).toBe(1);
  expect(scorePosition(5, scaleOf([5, 5], 0.03))).toBe(1);
  expect(scoreScale([], 0.03)).toBeNull();
});
