// The trials that the Run page compares the others with, and how they compare.

import type { Outcome, Space, TrialSummary, Verdict } from '../../api/generated';
import type { Configuration } from '../../maths/heatMapGrid';
import { sameConfiguration } from '../../maths/knobDiff';
import { defaultConfiguration } from '../../maths/space';

export interface KeyTrials {
  /** The search's trial of the default configuration. */
  standard: TrialSummary | undefined;
  /** The search's trial of the configuration to use, or of the best so far; not the default's. */
  best: TrialSummary | undefined;
}

export function keyTrials(trials: readonly TrialSummary[], space: Space, outcome: Outcome | null): KeyTrials {
  const search = trials.filter(({ purpose }) => purpose === 'search');
  const of = (configuration: Configuration) =>
    search.find((trial) => sameConfiguration(trial.configuration, configuration));
  const standard = of(outcome?.default ?? defaultConfiguration(space));
  const best = outcome ? outcome.best && of(outcome.best) : highest(search);
  return { standard, best: !best || best.number === standard?.number ? undefined : best };
}

/** The trial of the configuration with the highest mean score, as the agent's `best_known` has it. */
function highest(search: readonly TrialSummary[]): TrialSummary | undefined {
  const scores = new Map<string, number[]>();
  for (const { configuration_hash, score } of search)
    if (score !== null) scores.set(configuration_hash, [...(scores.get(configuration_hash) ?? []), score]);
  const mean = (own: readonly number[]) => own.reduce((sum, score) => sum + score, 0) / own.length;
  const [best] = [...scores].toSorted(([, a], [, b]) => mean(b) - mean(a));
  const own = best && search.find(({ configuration_hash }) => configuration_hash === best[0]);
  return own && { ...own, score: mean(best[1]) };
}

/** How much better one score is than another, as a share; null when it cannot be said. */
export function gainOver(score: number | null | undefined, base: number | null | undefined): number | null {
  return score == null || !base ? null : score / base - 1;
}

/** How many trials got each verdict, the most frequent first. */
export function verdictCounts(trials: readonly TrialSummary[]): [Verdict, number][] {
  const counts = new Map<Verdict, number>();
  for (const { verdict } of trials) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}
