import { expect, it } from 'vitest';
import { space, defaultConfiguration as standard } from '../test/records';
import { defaultConfiguration, freeKnobs } from './space';

it('the default configuration takes fixed values where knobs are fixed', () => {
  expect(defaultConfiguration({ ...space, fixed: { backlog: 64 } })).toEqual({ ...standard, backlog: 64 });
});

it('free are the knobs that are not fixed', () => {
  expect(freeKnobs(space)).toEqual(['sendfile', 'workers', 'max_connections']);
});
