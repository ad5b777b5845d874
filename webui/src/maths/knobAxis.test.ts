import { expect, it } from 'vitest';
import { knobAxis } from './knobAxis';

it('labels of a logarithmic axis keep apart, however close some values lie', () => {
  const axis = knobAxis({ kind: 'integer', scale: 'log' }, [1000, 10, 11, 12, 100, 990, 10]);
  expect(axis.ticks.map(axis.formatX)).toEqual(['10', '100', '990']);
});

it('choices lie at even distances, in their own order', () => {
  const axis = knobAxis({ kind: 'categorical', choices: ['off', 'slow', 'fast'] }, ['fast', 'off']);
  expect(axis.ticks).toEqual([0, 2]);
  expect(axis.formatX(2)).toBe('fast');
});
