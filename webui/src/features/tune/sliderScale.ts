// Where a knob's values lie on a slider. Pure.

import type { Knob } from '../../api/generated';

/** Places on a slider, from 0. */
export const SLIDER_STEPS = 200;

export interface SliderScale {
  low: number;
  high: number;
  placeOf(value: number): number;
  valueAt(place: number): number;
}

/** The scale of an integer knob; null for a knob without bounds. A logarithm of 0 is taken as that of 1. */
export function sliderScale({ low, high, scale }: Pick<Knob, 'low' | 'high' | 'scale'>): SliderScale | null {
  if (low === null || low === undefined || high === null || high === undefined || high <= low) return null;
  const logarithmic = scale === 'log';
  const forward = (value: number) => (logarithmic ? Math.log(Math.max(1, value)) : value);
  const backward = (value: number) => (logarithmic ? Math.exp(value) : value);
  const [from, to] = [forward(low), forward(high)];
  return {
    low,
    high,
    placeOf: (value) =>
      Math.round((Math.min(1, Math.max(0, (forward(value) - from) / (to - from))) || 0) * SLIDER_STEPS),
    valueAt: (place) => {
      if (place <= 0) return low;
      return place >= SLIDER_STEPS ? high : rounded(backward(from + (place / SLIDER_STEPS) * (to - from)));
    },
  };
}

/** To two significant digits: a thumb is not more exact than that. */
function rounded(value: number): number {
  return value < 100 ? Math.round(value) : Number(value.toPrecision(2));
}
