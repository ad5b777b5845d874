import { expect, it } from 'vitest';
import { SLIDER_STEPS, sliderScale } from './sliderScale';

it('gives each power of ten the same room on a logarithmic scale', () => {
  const scale = sliderScale({ low: 1, high: 10_000, scale: 'log' });
  expect([1, 10, 100, 1000, 10_000].map((value) => scale?.placeOf(value))).toEqual([
    0,
    50,
    100,
    150,
    SLIDER_STEPS,
  ]);
  expect(scale?.valueAt(100)).toBe(100);
});

it('ends exactly at the bounds and rounds what lies between to two digits', () => {
  const scale = sliderScale({ low: 3, high: 16_384, scale: 'log' });
  expect([scale?.valueAt(0), scale?.valueAt(SLIDER_STEPS)]).toEqual([3, 16_384]);
  expect(scale?.valueAt(150)).toBe(1900);
});

it('keeps values outside the bounds at the ends, and has no scale without bounds', () => {
  expect(sliderScale({ low: 0, high: 100, scale: 'linear' })?.placeOf(500)).toBe(SLIDER_STEPS);
  expect(sliderScale({ low: 0, high: 100, scale: 'log' })?.placeOf(0)).toBe(0);
  expect(sliderScale({ low: null, high: null, scale: 'linear' })).toBeNull();
});
