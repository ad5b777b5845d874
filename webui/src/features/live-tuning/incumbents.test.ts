import { expect, it } from 'vitest';
import { knownTraffic } from './incumbents';

const CONTEXT = { rate_rps: 100 };

it('counts what was tried and promoted with each kind of traffic', () => {
  const attempts = [{ action: 'promote' }, { action: 'roll-back' }, { action: 'give-up' }];
  expect(knownTraffic({ known: [{ context: CONTEXT, attempts }, { context: CONTEXT }] })).toEqual([
    { context: CONTEXT, tried: 3, promoted: 1 },
    { context: CONTEXT, tried: 0, promoted: 0 },
  ]);
});

it('leaves out what another version wrote in another way', () => {
  expect(knownTraffic(null)).toEqual([]);
  expect(knownTraffic({ known: 'nothing' })).toEqual([]);
  expect(knownTraffic({ known: [null, 7, { context: [] }] })).toEqual([]);
});
