// The finalists of a run as people ask for them: what is recommended, the default, the documented advice, the rest;
// and what each does, in words. Pure.

import type { Figure, Outcome, Performance, RankedConfiguration } from '../../api/generated';
import { formatCpu, formatMbps, formatMegabytes, formatMicroseconds, formatRate } from '../../maths/format';
import { changedKnobs, describeConfiguration, sameConfiguration } from '../../maths/knobDiff';

export interface Finalist {
  name: string;
  /** What sets it apart from the default. */
  differs: string;
  ranked: RankedConfiguration;
  performance: Performance;
  isBest: boolean;
}

/** Those of whom it is known what they do, in the order in which they are asked for. */
export function finalists(outcome: Outcome): Finalist[] {
  const found = outcome.ranking.flatMap((ranked): Finalist[] => {
    const { performance, configuration } = ranked;
    if (performance === null) return [];
    const isBest = outcome.files === null && sameConfiguration(configuration, outcome.best);
    const changes = changedKnobs(outcome.default, configuration).map(({ knob, to }) => [knob, to] as const);
    const differs = describeConfiguration(Object.fromEntries(changes));
    const name = outcome.files ? (ranked.is_default ? 'old file' : 'new file') : nameOf(ranked, isBest);
    return [{ name, differs, ranked, performance, isBest }];
  });
  return found.toSorted((a, b) => place(a) - place(b)).map((one) => ({ ...one, name: numbered(one, found) }));
}

function nameOf({ is_default, is_expert }: RankedConfiguration, isBest: boolean): string {
  if (is_default) return isBest ? 'default, kept' : 'default';
  if (isBest) return is_expert ? 'recommended: expert advice' : 'recommended';
  return is_expert ? 'expert advice' : 'finalist';
}

const place = ({ ranked, isBest }: Finalist): number =>
  isBest ? 0 : ranked.is_default ? 1 : ranked.is_expert ? 2 : 3;

/** Names tell apart what a chart and a table show beside each other. */
function numbered(one: Finalist, all: readonly Finalist[]): string {
  const namesakes = all.filter(({ name }) => name === one.name);
  return namesakes.length === 1 ? one.name : `${one.name} ${namesakes.indexOf(one) + 1}`;
}

/** What is told of a configuration: under which name, which figure, how. */
export interface Told {
  name: string;
  figure: (one: Performance) => Figure | null | undefined;
  format: (value: number | null | undefined) => string;
  /** Whether it is at the load that all followed. */
  loaded?: true;
  /** Whether it may be a lower bound. */
  bounded?: true;
  /** What it is called where there is more of it than before; of what nobody wants more. */
  grown?: string;
}

const CAPACITY: Told = {
  name: 'Capacity',
  figure: (one) => one.capacity_rps,
  format: formatRate,
  bounded: true,
};
const P99: Told = {
  name: 'Latency p99',
  figure: (one) => one.p99_us,
  format: formatMicroseconds,
  loaded: true,
  grown: 'slower',
};
const CPU: Told = {
  name: 'CPU per 1,000 requests',
  figure: (one) => one.cpu_s_per_1000_requests,
  format: formatCpu,
  loaded: true,
  grown: 'costs more',
};
const MEMORY: Told = {
  name: 'Memory at its peak (PSS)',
  figure: (one) => one.memory_bytes,
  format: formatMegabytes,
  grown: 'takes more',
};

/** What an operator asks for first. */
export const MAIN: readonly Told[] = [CAPACITY, P99, CPU, MEMORY];

/** All that is known, in the order of a table. */
export const TOLD: readonly Told[] = [
  CAPACITY,
  { name: 'Goodput at capacity', figure: (one) => one.capacity_mbps, format: formatMbps, bounded: true },
  { name: 'Latency p50', figure: (one) => one.p50_us, format: formatMicroseconds, loaded: true },
  P99,
  { name: 'Latency p99.9', figure: (one) => one.p999_us, format: formatMicroseconds, loaded: true },
  CPU,
  MEMORY,
];

/** The name of a figure, with the load that it is at. */
export const toldAt = ({ name, loaded }: Told, load_rps: number | null | undefined): string =>
  loaded && load_rps != null ? `${name} at ${formatRate(load_rps)}` : name;

/** The highest value that a figure of these may have: the end of a scale that they share. */
export const mostOf = ({ figure }: Told, of: readonly Performance[]): number =>
  Math.max(
    ...of.map((one) => {
      const value = figure(one);
      return value ? (value.high ?? OPEN_END * value.mean) : 0;
    }),
  );

/** How far the bar of a value reaches that may be more: as a multiple of it. */
const OPEN_END = 1.1;
