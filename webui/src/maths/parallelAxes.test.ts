import { describe, expect, it } from 'vitest';
import { labelsApart, parallelAxis } from './parallelAxes';

describe('parallelAxis', () => {
  it('spreads numbers over powers of ten evenly', () => {
    const axis = parallelAxis('workers', [1, 10, 100]);
    expect([1, 10, 100].map((value) => axis.position(value))).toEqual([0, 0.5, 1]);
  });

  it('leaves numbers that lie close together on a straight line', () => {
    expect(parallelAxis('levels', [10, 15, 20]).position(15)).toBe(0.5);
  });

  it('sets words apart evenly and knows only its own', () => {
    const axis = parallelAxis('sendfile', ['off', 'blocking', 'nonblocking']);
    expect(axis.ticks.map(({ label }) => label)).toEqual(['blocking', 'nonblocking', 'off']);
    expect(axis.position('nonblocking')).toBe(0.5);
    expect(axis.position('other')).toBeNaN();
  });

  it('says which values a brush holds, whichever way it was drawn', () => {
    const axis = parallelAxis('workers', [1, 2, 4, 8, 16]);
    expect(axis.within(0.8, 0.2)).toEqual({ low: 2, high: 8 });
    expect(axis.within(0.3, 0.4)).toBeNull();
  });

  it('labels that would lie on each other are left out, but not those of the ends', () => {
    const { ticks } = parallelAxis('max_connections', [100, 850, 860, 900, 1000]);
    const labels = (lengthPx: number) => labelsApart(ticks, lengthPx).map(({ label }) => label);
    expect(labels(2000)).toEqual(['100', '850', '900', '1000']);
    expect(labels(200)).toEqual(['100', '850', '1000']);
    expect(labels(20)).toEqual(['100', '1000']);
  });

  it('puts a single value in the middle', () => {
    expect(parallelAxis('workers', [4]).position(4)).toBe(0.5);
  });
});
