// What the Run page derives from a run and its trials. Pure.

import type { Outcome, Role, Space, TrialSummary, Verdict } from '../../api/generated';
import { formatMbps, formatMegabytes, formatMicroseconds } from '../../maths/format';
import type { Configuration } from '../../maths/heatMapGrid';
import { sameConfiguration } from '../../maths/knobDiff';
import { type NumberListText, textOf } from '../../maths/numberList';

/** The default of each free knob and the value of each fixed one. */
export function defaultConfiguration(space: Space): Configuration {
  const fixed = space.fixed ?? {};
  return Object.fromEntries(space.knobs.map(({ name, default: value }) => [name, fixed[name] ?? value]));
}

/** Names of the knobs the strategy may set, in the order of the space. */
export function freeKnobs(space: Space): string[] {
  return space.knobs.map(({ name }) => name).filter((name) => !(name in (space.fixed ?? {})));
}

/** The part of a configuration that can differ between the trials of a run. */
export function freePart(configuration: Configuration, space: Space): Configuration {
  return Object.fromEntries(freeKnobs(space).map((name) => [name, configuration[name] ?? '']));
}

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
  const verified = search.filter(({ score }) => score !== null);
  const highest = verified.toSorted((a, b) => (b.score ?? 0) - (a.score ?? 0))[0];
  const best = outcome ? outcome.best && of(outcome.best) : highest;
  return { standard, best: !best || best === standard ? undefined : best };
}

interface Climbed {
  rate_rps: number;
  goodput_mbps: number;
  reply_rate_rps: number;
  generator_limited: boolean;
  held?: boolean;
}

/**
 * A climb as a curve: by rate, and of a rate that was doubted and driven again the second time, which counts. A rate
 * that the load generator could not offer says nothing of the server.
 */
export function climbOf(measurements: readonly Climbed[]) {
  const last = new Map(
    measurements
      .filter(({ generator_limited }) => !generator_limited)
      .map((one) => [one.rate_rps, { ...one, held: one.held ?? true }]),
  );
  return [...last.values()].sort((a, b) => a.rate_rps - b.rate_rps);
}

/** What is told of a rate at which the verification or a constraint did not hold. */
export const RULE_BROKEN = 'a rule broken';

/** How much better one score is than another, as a share; null when it cannot be said. */
export function gainOver(score: number | null | undefined, base: number | null | undefined): number | null {
  return score == null || !base ? null : score / base - 1;
}

/** Costs come in MB and in ms. */
const COSTS: Readonly<Record<string, (value: number) => string>> = {
  rss: (megabytes) => formatMegabytes(1e6 * megabytes),
  p999: (milliseconds) => formatMicroseconds(1e3 * milliseconds),
};

/** A second objective as an axis or a column names it. */
export const secondName = (objective: string): string =>
  objective === 'rss' ? 'rss: memory (PSS) at its peak' : objective;

/** Whether less of a second objective is better. */
export const isCost = (objective: string): boolean => objective in COSTS;

/** A figure of a second objective with its unit. */
export const formatSecond = (objective: string, value: number | null | undefined): string =>
  value == null ? formatMbps(null) : (COSTS[objective] ?? formatMbps)(value);

/** How many trials got each verdict, the most frequent first. */
export function verdictCounts(trials: readonly TrialSummary[]): [Verdict, number][] {
  const counts = new Map<Verdict, number>();
  for (const { verdict } of trials) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}

/** The knobs on the axes: those asked for if they can be, else connections across and workers up. */
export function chooseAxes(
  space: Space,
  x: string | undefined,
  y: string | undefined,
): { x: string; y: string } | null {
  const free = freeKnobs(space);
  const ofRole = (...roles: Role[]) => space.knobs.find(({ role }) => role && roles.includes(role))?.name;
  const connections = ofRole('connections', 'connections-per-worker');
  const preferred = (wanted: readonly (string | undefined)[], taken?: string) =>
    [...wanted, ...free].find((name) => name !== undefined && free.includes(name) && name !== taken);
  const across = preferred([x, y === connections ? undefined : connections], x === undefined ? y : undefined);
  if (across === undefined) return null;
  const up = preferred([y, ofRole('workers')], across);
  return up === undefined ? null : { x: across, y: up };
}

/** Strategies whose second level measures again what may still win. */
const RACES: readonly string[] = ['race', 'surrogate-race'];

/** The level of the search that a trial is shown at: the default's own, 0, belongs to the first. */
export const searchLevel = ({ level }: { level: number }): number => Math.max(1, level);

/** A level of the search in words. */
export function levelName(strategy: string, level: number): string {
  if (RACES.includes(strategy)) return level === 1 ? '1, the field' : `${level}, repeats`;
  return level === 1 ? '1, coarse' : `${level}, finer`;
}

/** More curves than these besides the default's and the best's cannot be told apart. */
const MOST_CHOSEN = 5;

/** The address's text with a trial added at the end, or taken away; the oldest goes when there are too many. */
export function toggled(chosen: readonly number[], trial: number): NumberListText {
  const next = chosen.includes(trial) ? chosen.filter((one) => one !== trial) : [...chosen, trial];
  return textOf(next.slice(-MOST_CHOSEN));
}
