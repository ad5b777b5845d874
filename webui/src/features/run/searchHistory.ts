// How the best of a search came about, trial by trial. Pure.

import type { TrialSummary } from '../../api/generated';
import type { CurvePoint } from '../../charts/CurveChart';

export interface SearchHistory {
  /** The score of each trial; a cross is an estimate, of a trial that was stopped early. */
  trials: CurvePoint[];
  /** The highest verified score until then, to the last trial of the search. */
  best: CurvePoint[];
}

export function searchHistory(all: readonly TrialSummary[]): SearchHistory {
  const searched = all
    .filter(({ purpose }) => purpose === 'search')
    .toSorted((one, other) => one.number - other.number);
  const history: SearchHistory = { trials: [], best: [] };
  for (const { number, score, estimated_score } of searched) {
    const y = score ?? estimated_score;
    if (y !== null) history.trials.push({ x: number, y, crossed: score === null });
    const highest = Math.max(score ?? -Infinity, history.best.at(-1)?.y ?? -Infinity);
    if (Number.isFinite(highest)) history.best.push({ x: number, y: highest });
  }
  return history;
}
