// The trials that the Run page compares the others with, and how they compare.

import type { Outcome, Space, TrialSummary, Verdict } from '../../api/generated';
import type { Configuration } from '../../maths/heatMapGrid';
import { sameConfiguration } from '../../maths/knobDiff';
import { defaultConfiguration } from '../../maths/space';
import { bestOf, configurationScores, standingTrials, verifiedScore } from './configurationScores';

/** Each the first verified trial of its configuration, with the score of that, which may be a mean of several. */
export interface KeyTrials {
  /** A trial of the default configuration. */
  standard: TrialSummary | undefined;
  /** A trial of the configuration to use, or of the best so far; not the default's. */
  best: TrialSummary | undefined;
}

export function keyTrials(trials: readonly TrialSummary[], space: Space, outcome: Outcome | null): KeyTrials {
  const standing = standingTrials(trials, outcome);
  const scores = configurationScores(trials, outcome);
  const scored = (trial: TrialSummary | undefined) =>
    trial && { ...trial, score: verifiedScore(scores.get(trial.configuration_hash)) };
  const firstOf = (own: readonly TrialSummary[]) =>
    scored(own.find(({ verdict }) => verdict === 'verified') ?? own[0]);
  const of = (configuration: Configuration) =>
    firstOf(standing.filter((trial) => sameConfiguration(trial.configuration, configuration)));
  const standard = of(outcome?.default ?? defaultConfiguration(space));
  const leader = bestOf(scores, null);
  const best = outcome
    ? outcome.best && of(outcome.best)
    : firstOf(standing.filter(({ configuration_hash }) => configuration_hash === leader));
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
