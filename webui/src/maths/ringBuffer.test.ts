import { describe, expect, it } from 'vitest';
import { RingBuffer } from './ringBuffer';

describe('RingBuffer', () => {
  it('forgets the oldest rows once it is full', () => {
    const buffer = new RingBuffer(3, 2);
    for (let time = 1; time <= 5; time++) buffer.push(time, [time * 10, time * 100]);
    expect(buffer.length).toBe(3);
    expect([0, 1, 2].map((i) => buffer.time(i))).toEqual([3, 4, 5]);
    expect(buffer.value(0, 0)).toBe(30);
    expect(buffer.value(2, 1)).toBe(500);
  });

  it('drops a row that is not later than the last one', () => {
    const buffer = new RingBuffer(3, 1);
    expect(buffer.push(2, [1])).toBe(true);
    expect(buffer.push(2, [9])).toBe(false);
    expect(buffer.push(1, [9])).toBe(false);
    expect(buffer.length).toBe(1);
  });

  it('finds the first row of a window, also after wrapping round', () => {
    const buffer = new RingBuffer(4, 1);
    for (const time of [1, 2, 4, 8, 16, 32]) buffer.push(time, [0]);
    expect(buffer.firstSince(0)).toBe(0);
    expect(buffer.firstSince(8)).toBe(1);
    expect(buffer.firstSince(9)).toBe(2);
    expect(buffer.firstSince(99)).toBe(4);
  });

  it('keeps a missing value as NaN and not as zero', () => {
    const buffer = new RingBuffer(2, 2);
    buffer.push(1, [5]);
    expect(buffer.value(0, 1)).toBeNaN();
  });
});
