import { expect, it } from 'vitest';
import { doingOf } from './doing';

it('a run whose trial is measured again is not done', () => {
  expect(doingOf({ phase: 'done', pause: 'no' })).toBe('measuring a trial again');
  expect(doingOf({ phase: 'searching', pause: 'no' })).toBe('searching');
});

it('a paused run is paused in whichever phase, one that will pause goes on', () => {
  expect(doingOf({ phase: 'searching', pause: 'yes' })).toBe('paused');
  expect(doingOf({ phase: 'searching', pause: 'requested' })).toBe('searching');
});
