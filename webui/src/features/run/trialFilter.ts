// The filter of the trials: words and comparisons, all of which a trial must meet.
//
//   workers>=4 architecture=symped crashed score>500
//
// A comparison names a knob (whatever signs its name holds), or trial, score, gain, level, verdict or purpose. A
// word without one is looked for in verdict, purpose and reason. Brushes on the parallel coordinates write into it.

import type { TrialSummary } from '../../api/generated';
import type { Configuration } from '../../maths/heatMapGrid';
import type { KnobValue } from '../../maths/knobDiff';
import { searchLevel } from '../../maths/searchLevel';
import { gainOfTrial } from './keyTrials';

type Operator = '>=' | '<=' | '!=' | '>' | '<' | '=';

export interface Comparison {
  name: string;
  operator: Operator;
  value: string;
}

const COMPARISON = /^(.+?)(>=|<=|!=|>|<|=)(.+)$/;

const OWN: Record<
  string,
  (trial: TrialSummary, standard: Configuration, base: number | null) => KnobValue | null
> = {
  trial: ({ number }) => number,
  score: ({ score }) => score,
  gain: gainOfTrial,
  level: searchLevel,
  verdict: ({ verdict }) => verdict,
  purpose: ({ purpose }) => purpose,
};

export interface TrialFilter {
  comparisons: Comparison[];
  words: string[];
  /** What cannot be understood, in a sentence; null when all can. */
  error: string | null;
}

/** Reads a filter; `knobs` are the names that comparisons may use besides their own. */
export function parseFilter(text: string, knobs: readonly string[]): TrialFilter {
  const filter: TrialFilter = { comparisons: [], words: [], error: null };
  for (const token of text.trim().split(/\s+/).filter(Boolean)) {
    const match = COMPARISON.exec(token);
    if (match === null) {
      filter.words.push(token.toLowerCase());
      continue;
    }
    const [, name = '', operator, value = ''] = match;
    if (!Object.hasOwn(OWN, name) && !knobs.includes(name)) {
      filter.error = `"${name}" is no knob of this run; expected ${[...Object.keys(OWN), ...knobs].join(', ')}.`;
      continue;
    }
    filter.comparisons.push({ name, operator: operator as Operator, value });
  }
  return filter;
}

/** A number as the table writes it too: `1,024`, `5%`. */
const numberOf = (text: string): number => Number(text.replace(/,|%$/g, '')) / (text.endsWith('%') ? 100 : 1);

function compares(actual: KnobValue | null | undefined, operator: Operator, value: string): boolean {
  if (actual === null || actual === undefined) return false;
  const wanted = typeof actual === 'number' ? numberOf(value) : value;
  if (operator === '=') return actual === wanted;
  if (operator === '!=') return actual !== wanted;
  if (typeof actual !== 'number' || typeof wanted !== 'number') return false;
  if (operator === '>') return actual > wanted;
  if (operator === '<') return actual < wanted;
  return operator === '>=' ? actual >= wanted : actual <= wanted;
}

/** Whether the trial meets every comparison and holds every word; gains are over the default, which has that score. */
export function matches(
  trial: TrialSummary,
  filter: TrialFilter,
  standard: Configuration,
  standardScore: number | null,
): boolean {
  const holds = filter.comparisons.every(({ name, operator, value }) =>
    compares(OWN[name]?.(trial, standard, standardScore) ?? trial.configuration[name], operator, value),
  );
  if (!holds || filter.words.length === 0) return holds;
  const text = `${trial.verdict} ${trial.purpose} ${trial.reason}`.toLowerCase();
  return filter.words.every((word) => text.includes(word));
}

/** The filter with the comparisons about `name` replaced by a range, or taken away when it is null. */
export function withRange(
  text: string,
  name: string,
  range: { low: KnobValue; high: KnobValue } | null,
): string {
  const others = text
    .trim()
    .split(/\s+/)
    .filter((token) => token !== '' && COMPARISON.exec(token)?.[1] !== name);
  if (range === null) return others.join(' ');
  const own =
    range.low === range.high ? [`${name}=${range.low}`] : [`${name}>=${range.low}`, `${name}<=${range.high}`];
  return [...others, ...own].join(' ');
}
