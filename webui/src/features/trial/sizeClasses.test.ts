import { describe, expect, it } from 'vitest';
import { trialDetail } from '../../test/records';
import { flatCounters } from './flatCounters';
import { sizeClassRows } from './sizeClasses';

describe('sizeClassRows', () => {
  it('counts timeouts as a share of what the server had read', () => {
    const trial = trialDetail();
    const [measurement] = trial.measurements;
    if (measurement === undefined) throw new Error('a trial with a measurement');
    const { rows, all } = sizeClassRows(trial, measurement);
    expect(rows.map(({ share }) => share)).toEqual([0, 0.05]);
    expect(all).toBeCloseTo(5 / 1090);
  });

  it('says which rules a size breaks at this rate, and not what it breaks at another', () => {
    const trial = trialDetail();
    const [first, second] = trial.measurements;
    if (first === undefined || second === undefined) throw new Error('a trial with two measurements');
    expect(sizeClassRows(trial, first).rows.map(({ broken }) => broken)).toEqual([[], []]);
    expect(sizeClassRows(trial, second).rows.map(({ broken }) => broken)).toEqual([[], ['file-size']]);
  });
});

describe('flatCounters', () => {
  it('names what lies deep by its path', () => {
    expect(flatCounters({ softnet: [{ cpu: 0, dropped: 2 }], verdict: 'ok', none: null })).toEqual([
      ['softnet.0.cpu', '0'],
      ['softnet.0.dropped', '2.00'],
      ['verdict', 'ok'],
    ]);
  });
});
