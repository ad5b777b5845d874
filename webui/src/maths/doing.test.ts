import { expect, it } from 'vitest';
import { phaseOf } from './phase';

it('a run whose trial is measured again is not done', () => {
  expect(phaseOf('done')).toBe('measuring a trial again');
  expect(phaseOf('searching')).toBe('searching');
});
