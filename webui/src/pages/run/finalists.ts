// The finalists of a run as people ask for them: the default, what is recommended, the documented advice, the rest;
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
  /** Place in the palette: that of its curve, where it has one. */
  style: number;
}

/** Those of whom it is known what they do, in the order in which they are asked for. */
export function finalists(outcome: Outcome): Finalist[] {
  const found = outcome.ranking.flatMap((ranked): Omit<Finalist, 'style'>[] => {
    const { performance, configuration } = ranked;
    if (performance === null) return [];
    const isBest = sameConfiguration(configuration, outcome.best);
    const changes = changedKnobs(outcome.default, configuration).map(({ knob, to }) => [knob, to] as const);
    const differs = describeConfiguration(Object.fromEntries(changes));
    return [{ name: nameOf(ranked, isBest), differs, ranked, performance, isBest }];
  });
  return found
    .toSorted((a, b) => place(a) - place(b))
    .map((one, style) => ({ ...one, name: numbered(one, found), style }));
}

function nameOf({ is_default, is_expert }: RankedConfiguration, isBest: boolean): string {
  if (is_default) return isBest ? 'default, kept' : 'default';
  if (isBest) return is_expert ? 'recommended: expert advice' : 'recommended';
  return is_expert ? 'expert advice' : 'finalist';
}

const place = ({ ranked, isBest }: Omit<Finalist, 'style'>): number =>
  ranked.is_default ? 0 : isBest ? 1 : ranked.is_expert ? 2 : 3;

/** Names tell apart what a chart and a table show beside each other. */
function numbered(one: Omit<Finalist, 'style'>, all: readonly Omit<Finalist, 'style'>[]): string {
  const namesakes = all.filter(({ name }) => name === one.name);
  return namesakes.length === 1 ? one.name : `${one.name} ${namesakes.indexOf(one) + 1}`;
}

/** A row of the table: what is told, of whom, how. */
export interface Told {
  name: string;
  figure: (one: Performance) => Figure | null | undefined;
  format: (value: number | null | undefined) => string;
  /** Whether it is at the load that all followed. */
  loaded?: true;
  /** Whether it may be a lower bound. */
  bounded?: true;
}

export const TOLD: readonly Told[] = [
  { name: 'Follows', figure: (one) => one.capacity_rps, format: formatRate, bounded: true },
  { name: 'Goodput there', figure: (one) => one.capacity_mbps, format: formatMbps, bounded: true },
  { name: 'Latency p50', figure: (one) => one.p50_us, format: formatMicroseconds, loaded: true },
  { name: 'Latency p99', figure: (one) => one.p99_us, format: formatMicroseconds, loaded: true },
  { name: 'Latency p99.9', figure: (one) => one.p999_us, format: formatMicroseconds, loaded: true },
  {
    name: 'CPU per 1,000 requests',
    figure: (one) => one.cpu_s_per_1000_requests,
    format: formatCpu,
    loaded: true,
  },
  { name: 'Memory at its peak (PSS)', figure: (one) => one.memory_bytes, format: formatMegabytes },
];
