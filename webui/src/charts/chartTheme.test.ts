import { expect, it } from 'vitest';
import { luminance, type Rgb, sequentialColour } from '../maths/colourScale';
import { type ChartTheme, DARK, LIGHT } from './chartTheme';

/** How far lines are see-through where there are few of them. */
const OPACITY = 0.75;

const channels = (hex: string): Rgb => ({
  r: Number.parseInt(hex.slice(1, 3), 16),
  g: Number.parseInt(hex.slice(3, 5), 16),
  b: Number.parseInt(hex.slice(5, 7), 16),
});

function contrast(colour: Rgb, { surface }: ChartTheme): number {
  const below = channels(surface);
  const mix = (channel: keyof Rgb) => OPACITY * colour[channel] + (1 - OPACITY) * below[channel];
  const [high, low] = [luminance({ r: mix('r'), g: mix('g'), b: mix('b') }), luminance(below)].sort(
    (a, b) => b - a,
  ) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

it('a line of any score can be seen on the surface of either theme', () => {
  for (const theme of [LIGHT, DARK]) {
    for (let position = 0; position <= 1; position += 0.01) {
      expect(contrast(sequentialColour(position, theme.lines), theme)).toBeGreaterThanOrEqual(3);
    }
  }
});
