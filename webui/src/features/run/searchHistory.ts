// How the best of a search came about, trial by trial. Pure.

import type { TrialSummary } from '../../api/generated';
import type { CurvePoint } from '../../charts/CurveChart';

export interface SearchHistory {
  /** The score of each trial; a cross is an estimate, of a trial that was stopped early. */
  trials: CurvePoint[];
  /** The highest score that a configuration had until then (its mean), to the last trial of the search. */
  best: CurvePoint[];
}

export function searchHistory(all: readonly TrialSummary[]): SearchHistory {
  const searched = all
    .filter(({ purpose }) => purpose === 'search')
    .toSorted((one, other) => one.number - other.number);
  const history: SearchHistory = { trials: [], best: [] };
  const means = new Map<string, { mean: number; count: number }>();
  for (const { number, score, estimated_score, configuration_hash: hash } of searched) {
    const y = score ?? estimated_score;
    if (y !== null) history.trials.push({ x: number, y, crossed: score === null });
    if (score !== null) {
      const { mean, count } = means.get(hash) ?? { mean: 0, count: 0 };
      means.set(hash, { mean: mean + (score - mean) / (count + 1), count: count + 1 });
    }
    const highest = Math.max(...Array.from(means.values(), ({ mean }) => mean));
    if (Number.isFinite(highest)) history.best.push({ x: number, y: highest });
  }
  return history;
}
