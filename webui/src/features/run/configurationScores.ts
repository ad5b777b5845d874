// The score of a configuration, by one rule for the maps, the history, the best of a run and the list of runs: the
// mean of its blocks in the confirmation, as the outcome ranks it; before that, of its scores in the search. What the
// search has not measured, as it came up after it, counts after the confirmation, which may recommend it. Pure.

import type { Outcome, TrialSummary } from '../../api/generated';
import { sameConfiguration } from '../../maths/knobDiff';

export interface ConfigurationScore {
  score: number | null;
  /** Whether no trial was verified, and the score is what a trial that was stopped early is taken to reach. */
  estimated: boolean;
}

const NONE: ConfigurationScore = { score: null, estimated: false };

const mean = (scores: readonly number[]) => scores.reduce((sum, score) => sum + score, 0) / scores.length;

/**
 * The trials that stand for their configurations: the search's. After a confirmation also those of configurations that
 * were first measured after the search, in the elimination or the confirmation: one of them may be recommended.
 */
export function standingTrials(trials: readonly TrialSummary[], outcome: Outcome | null): TrialSummary[] {
  const search = trials.filter(({ purpose }) => purpose === 'search');
  if (!outcome?.confirmed) return search;
  const searched = new Set(search.map(({ configuration_hash }) => configuration_hash));
  return trials.filter(
    ({ purpose, configuration_hash }) =>
      purpose === 'search' || (purpose !== 'calibration' && !searched.has(configuration_hash)),
  );
}

/** By the hash of each configuration that has trials that stand for it. */
export function configurationScores(
  trials: readonly TrialSummary[],
  outcome: Outcome | null,
): Map<string, ConfigurationScore> {
  const groups = new Map<string, TrialSummary[]>();
  for (const trial of standingTrials(trials, outcome)) {
    groups.set(trial.configuration_hash, [...(groups.get(trial.configuration_hash) ?? []), trial]);
  }
  const confirmed = new Map(
    (outcome?.ranking ?? []).map((one): [string, number | null] => [
      one.configuration_hash,
      one.mean_score_mbps,
    ]),
  );
  return new Map(
    [...groups].map(([hash, group]): [string, ConfigurationScore] => {
      const score = confirmed.get(hash);
      return [hash, score == null ? searched(group) : { score, estimated: false }];
    }),
  );
}

function searched(group: readonly TrialSummary[]): ConfigurationScore {
  const own = group.flatMap(({ score }) => score ?? []);
  if (own.length > 0) return { score: mean(own), estimated: false };
  const estimates = group.flatMap(({ estimated_score }) => estimated_score ?? []);
  return estimates.length > 0 ? { score: mean(estimates), estimated: true } : NONE;
}

/** The score, unless it is an estimate. */
export const verifiedScore = (told: ConfigurationScore | undefined): number | null =>
  told === undefined || told.estimated ? null : told.score;

/** The hash of the best: what the outcome recommends; before that, of the highest score. */
export function bestOf(
  scores: ReadonlyMap<string, ConfigurationScore>,
  outcome: Outcome | null,
): string | undefined {
  const recommended = outcome?.best;
  const own =
    recommended && outcome.ranking.find(({ configuration }) => sameConfiguration(configuration, recommended));
  if (own) return own.configuration_hash;
  const verified = [...scores].flatMap(([hash, told]) => {
    const score = verifiedScore(told);
    return score === null ? [] : [{ hash, score }];
  });
  return verified.toSorted((a, b) => b.score - a.score)[0]?.hash;
}
