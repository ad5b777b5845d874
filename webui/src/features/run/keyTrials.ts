// The trials that the Run page compares the others with, and how they compare.

import type { Outcome, Space, TrialSummary, Verdict } from '../../api/generated';
import type { Configuration } from '../../maths/heatMapGrid';
import { sameConfiguration } from '../../maths/knobDiff';
import { defaultConfiguration } from '../../maths/space';
import { bestOf, configurationScores, verifiedScore } from './configurationScores';

/** Each with the score of its configuration, which may be the mean of several trials. */
export interface KeyTrials {
  /** The search's trial of the default configuration. */
  standard: TrialSummary | undefined;
  /** The search's trial of the configuration to use, or of the best so far; not the default's. */
  best: TrialSummary | undefined;
}

export function keyTrials(trials: readonly TrialSummary[], space: Space, outcome: Outcome | null): KeyTrials {
  const search = trials.filter(({ purpose }) => purpose === 'search');
  const scores = configurationScores(search, outcome);
  const scored = (trial: TrialSummary | undefined) =>
    trial && { ...trial, score: verifiedScore(scores.get(trial.configuration_hash)) };
  const of = (configuration: Configuration) =>
    scored(search.find((trial) => sameConfiguration(trial.configuration, configuration)));
  const standard = of(outcome?.default ?? defaultConfiguration(space));
  const leader = bestOf(scores, null);
  const best = outcome
    ? outcome.best && of(outcome.best)
    : scored(search.find(({ configuration_hash }) => configuration_hash === leader));
  return { standard, best: !best || best.number === standard?.number ? undefined : best };
}

/** How much better one score is than another, as a share; null when it cannot be said. */
export function gainOver(score: number | null | undefined, base: number | null | undefined): number | null {
  return score == null || !base ? null : score / base - 1;
}

/**
 * How much better a trial scores than the default's configuration (`base` is that one's score). None of the default's
 * own: what its trials differ by is noise.
 */
export function gainOfTrial(
  { configuration, score }: TrialSummary,
  standard: Configuration,
  base: number | null,
): number | null {
  return sameConfiguration(configuration, standard) ? null : gainOver(score, base);
}

/** How many trials got each verdict, the most frequent first. */
export function verdictCounts(trials: readonly TrialSummary[]): [Verdict, number][] {
  const counts = new Map<Verdict, number>();
  for (const { verdict } of trials) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}
