import { describe, expect, it } from 'vitest';
import { outcome, space, defaultConfiguration as standard, trial } from '../../test/records';
import { gainOfTrial, gainOver, keyTrials, verdictCounts } from './keyTrials';

describe('keyTrials', () => {
  const four = { ...standard, workers: 4 };
  const trials = [
    trial(1),
    trial(2, { configuration: four, score: 800 }),
    trial(3, { configuration: { ...standard, workers: 8 }, score: null, verdict: 'crashed' }),
    trial(4, { configuration: { ...standard, workers: 2 }, score: 900, purpose: 'confirmation' }),
  ];

  it('finds the default and the best verified trial of the search', () => {
    const { standard: first, best } = keyTrials(trials, space, null);
    expect(first?.number).toBe(1);
    expect(best?.number).toBe(2);
  });

  it('takes the highest mean, not the luckiest trial', () => {
    const lucky = { ...standard, workers: 16 };
    const repeats = [930, 700].map((score, index) => trial(5 + index, { configuration: lucky, score }));
    const { best } = keyTrials([...trials, ...repeats], space, null);
    expect([best?.number, best?.score]).toEqual([5, 815]);
  });

  it('compares with the mean of the default, not with its first trial', () => {
    const { standard: own } = keyTrials([...trials, trial(8, { score: 600 })], space, null);
    expect([own?.number, own?.score]).toEqual([1, 550]);
  });

  it('follows the outcome once there is one', () => {
    expect(keyTrials(trials, space, outcome({ best: { ...standard, workers: 4 } })).best?.number).toBe(2);
    expect(keyTrials(trials, space, outcome({ best: standard })).best).toBeUndefined();
    expect(keyTrials(trials, space, outcome({ best: null })).best).toBeUndefined();
  });

  it('finds what is recommended where it was first measured in the elimination', () => {
    const two = { ...standard, workers: 2 };
    const later = [
      trial(5, {
        configuration: two,
        configuration_hash: 'two',
        purpose: 'elimination',
        verdict: 'disturbed',
        score: null,
      }),
      trial(6, { configuration: two, configuration_hash: 'two', purpose: 'elimination', score: 880 }),
    ];
    const all = [...trials.slice(0, 3), ...later];
    const { best } = keyTrials(all, space, outcome({ best: two, ranking: [] }));
    expect([best?.number, best?.score]).toEqual([6, 880]);
    expect(keyTrials(all, space, null).best?.number).toBe(2); // nothing recommends it yet
  });

  it('is empty without trials', () => {
    expect(keyTrials([], space, null)).toEqual({ standard: undefined, best: undefined });
  });
});

it('a gain over nothing cannot be said', () => {
  expect(gainOver(600, 500)).toBeCloseTo(0.2);
  expect(gainOver(600, 0)).toBeNull();
  expect(gainOver(null, 500)).toBeNull();
});

it('the default gains nothing over itself', () => {
  const other = { ...standard, workers: 4 };
  expect(gainOfTrial(trial(2, { configuration: other, score: 600 }), standard, 500)).toBeCloseTo(0.2);
  expect(gainOfTrial(trial(3, { score: 600 }), standard, 500)).toBeNull();
});

it('verdicts are counted, the most frequent first', () => {
  expect(verdictCounts([trial(1, { verdict: 'crashed' }), trial(2), trial(3)])).toEqual([
    ['verified', 2],
    ['crashed', 1],
  ]);
});
