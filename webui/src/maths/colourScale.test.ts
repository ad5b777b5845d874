import { describe, expect, it } from 'vitest';
import { cssColour, luminance, sequentialColour, textColourOn } from './colourScale';

const positions = Array.from({ length: 101 }, (_, i) => i / 100);

describe('sequentialColour', () => {
  it('gets strictly lighter from least to most', () => {
    const light = positions.map((position) => luminance(sequentialColour(position)));
    for (let i = 1; i < light.length; i++) expect(light[i]).toBeGreaterThan(light[i - 1] as number);
  });

  it('clamps what lies outside and takes NaN for the low end', () => {
    expect(sequentialColour(-3)).toEqual(sequentialColour(0));
    expect(sequentialColour(7)).toEqual(sequentialColour(1));
    expect(sequentialColour(Number.NaN)).toEqual(sequentialColour(0));
  });

  it('gives whole channels from 0 to 255', () => {
    for (const position of positions) {
      for (const channel of Object.values(sequentialColour(position))) {
        expect(Number.isInteger(channel)).toBe(true);
        expect(channel).toBeGreaterThanOrEqual(0);
        expect(channel).toBeLessThanOrEqual(255);
      }
    }
  });
});

describe('textColourOn', () => {
  it('reaches a contrast of 4.5 everywhere on the scale', () => {
    for (const position of positions) {
      const background = sequentialColour(position);
      const text = textColourOn(background) === '#000000' ? 0 : 1;
      const [high, low] = [luminance(background), text].sort((a, b) => b - a) as [number, number];
      expect((high + 0.05) / (low + 0.05)).toBeGreaterThanOrEqual(4.5);
    }
  });
});

it('writes colours the way CSS reads them', () => {
  expect(cssColour({ r: 1, g: 20, b: 255 })).toBe('rgb(1 20 255)');
});
