import { expect, it } from 'vitest';
import { changedKnobs, describeConfiguration, sameConfiguration } from './knobDiff';

it('only the knobs that differ are listed, with both values', () => {
  expect(
    changedKnobs({ workers: 1, sendfile: 'blocking' }, { workers: 4, sendfile: 'blocking', sndbuf: 0 }),
  ).toEqual([
    { knob: 'workers', from: 1, to: 4 },
    { knob: 'sndbuf', from: undefined, to: 0 },
  ]);
});

it('configurations are the same whatever the order of their knobs', () => {
  expect(sameConfiguration({ a: 1, b: 'x' }, { b: 'x', a: 1 })).toBe(true);
  expect(sameConfiguration({ a: 1 }, { a: 2 })).toBe(false);
  expect(sameConfiguration(null, {})).toBe(false);
});

it('a configuration fits one line', () => {
  expect(describeConfiguration({ workers: 4, sendfile: 'blocking' })).toBe('workers=4 sendfile=blocking');
});
