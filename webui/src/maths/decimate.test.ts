import { describe, expect, it } from 'vitest';
import { samplesPerPoint, windowPoints } from './decimate';
import { RingBuffer } from './ringBuffer';

function filled(values: number[]): RingBuffer {
  const buffer = new RingBuffer(100, 1);
  values.forEach((value, i) => {
    buffer.push(100 + i, [value]);
  });
  return buffer;
}

it('a window of fifteen minutes is thinned to 300 points, one of a minute is not', () => {
  expect(samplesPerPoint(900, 1, 300)).toBe(3);
  expect(samplesPerPoint(60, 1, 300)).toBe(1);
});

describe('windowPoints', () => {
  it('gives every sample inside the window when nothing has to go', () => {
    const points = windowPoints(filled([1, 2, 3, 4]), 0, 103, 2, 1);
    expect(points).toEqual([
      { x: -2, y: 2 },
      { x: -1, y: 3 },
      { x: 0, y: 4 },
    ]);
  });

  it('ends at now, whatever has come since', () => {
    expect(windowPoints(filled([1, 2, 3, 4]), 0, 101, 60, 1).map(({ y }) => y)).toEqual([1, 2]);
  });

  it('averages groups counted on the clock', () => {
    const points = windowPoints(filled([1, 3, 5, 7]), 0, 103, 60, 2);
    expect(points.map((point) => point.y)).toEqual([2, 6]);
  });

  it('leaves a gap where a source was missing and ignores it inside a group', () => {
    expect(windowPoints(filled([1, Number.NaN]), 0, 101, 60, 1)[1]?.y).toBeNaN();
    expect(windowPoints(filled([4, Number.NaN]), 0, 101, 60, 2)[0]?.y).toBe(4);
  });
});
