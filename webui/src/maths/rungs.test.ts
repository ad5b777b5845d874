import { expect, it } from 'vitest';
import { rungsOf } from './rungs';

it('speaks of rates in an open loop, and of connections in a closed one', () => {
  expect(rungsOf('open').format(2000)).toBe('2,000\u00a0requests/s');
  expect(rungsOf('closed').format(64)).toBe('64\u00a0connections');
  expect(rungsOf('closed').format(1)).toBe('1\u00a0connection');
  expect(rungsOf('closed', 'closed').name).toBe('Connections');
  expect(rungsOf('closed', 'open').format(2000)).toBe('2,000');
});
