import { expect, it } from 'vitest';
import { space, defaultConfiguration as standard } from '../test/records';
import { defaultConfiguration, freeKnobs, partToUse } from './space';

it('the default configuration takes fixed values where knobs are fixed', () => {
  expect(defaultConfiguration({ ...space, fixed: { backlog: 64 } })).toEqual({ ...standard, backlog: 64 });
});

it('free are the knobs that are not fixed', () => {
  expect(freeKnobs(space)).toEqual(['sendfile', 'workers', 'max_connections']);
});

it('puts a default to use that is one for each CPU as that, and another number as it is', () => {
  const knobs = space.knobs.map((knob) => (knob.name === 'workers' ? { ...knob, each_cpu: true } : knob));
  const asked = { ...space, knobs };
  const workers = defaultConfiguration(space).workers;
  expect(partToUse({ ...defaultConfiguration(space) }, asked).workers).toBe('one for each CPU');
  expect(partToUse({ ...defaultConfiguration(space), workers: 7 }, asked).workers).toBe(7);
  expect(partToUse({ ...defaultConfiguration(space) }, space).workers).toBe(workers);
});
