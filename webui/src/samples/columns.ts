// Which numbers of a counter sample the charts keep, and under which names.

import type { CounterValues } from '../api/generated';

export const CPU_STATES = ['user', 'system', 'irq', 'softirq', 'iowait', 'steal'] as const;
export type CpuState = (typeof CPU_STATES)[number];

/** Replies per second with a status of this hundred; undefined while no server is read. */
function replies(sample: CounterValues, hundred: number): number | undefined {
  if (!sample.server) return undefined;
  let sum = 0;
  for (const [name, value] of Object.entries(sample.server)) {
    if (name.startsWith(`replies_${hundred}`)) sum += value;
  }
  return sum;
}

function acceptsPerPhase({ server }: CounterValues): number | undefined {
  const phases = server?.accept_phases_per_s;
  return phases ? (server?.connections_accepted_per_s ?? 0) / phases : undefined;
}

function softnetDrops({ network }: CounterValues): number | undefined {
  return network?.softnet.reduce((sum, row) => sum + Number(row.dropped_per_s ?? 0), 0);
}

const scaled = (value: unknown, factor: number) => (typeof value === 'number' ? value * factor : undefined);

const SCALARS = {
  trial: (sample) => sample.load?.trial,
  rate: (sample) => sample.load?.rate_rps,
  // A closed loop offers what is answered.
  offered: (sample) => (sample.load?.loop === 'closed' ? undefined : sample.load?.rate_rps),
  goodput: (sample) => sample.load?.goodput_mbps,
  replyRate: (sample) => sample.load?.reply_rate_rps,
  p50: (sample) => sample.load?.reply_p50_us,
  p90: (sample) => sample.load?.reply_p90_us,
  p99: (sample) => sample.load?.reply_p99_us,
  p999: (sample) => sample.load?.reply_p999_us,
  sessions: (sample) => sample.load?.sessions_open,
  connections: (sample) => sample.server?.connections_open,
  accepts: (sample) => sample.server?.connections_accepted_per_s,
  acceptsPerPhase,
  requests: (sample) => sample.server?.requests_per_s,
  replies2xx: (sample) => replies(sample, 2),
  replies3xx: (sample) => replies(sample, 3),
  replies4xx: (sample) => replies(sample, 4),
  replies5xx: (sample) => replies(sample, 5),
  contextSwitches: (sample) => sample.cpu?.context_switches_per_s,
  interrupts: (sample) => sample.cpu?.interrupts_per_s,
  runQueue: (sample) => sample.cpu?.run_queue,
  blocked: (sample) => sample.cpu?.blocked,
  pageCache: (sample) => sample.memory?.page_cache_bytes,
  available: (sample) => sample.memory?.available_bytes,
  bytesIn: (sample) => scaled(sample.paging?.read_kib_per_s, 1024),
  bytesOut: (sample) => scaled(sample.paging?.written_kib_per_s, 1024),
  refaults: (sample) => sample.paging?.file_refaults_per_s,
  majorFaults: (sample) => sample.paging?.major_faults_per_s,
  listenOverflows: (sample) => sample.network?.listen_overflows_per_s,
  listenDrops: (sample) => sample.network?.listen_drops_per_s,
  synDrops: (sample) => sample.network?.syn_queue_drops_per_s,
  softnetDrops,
  retransmits: (sample) => sample.network?.retransmits_per_s,
} as const satisfies Record<string, (sample: CounterValues) => unknown>;

export type ScalarColumn = keyof typeof SCALARS;

export const cpuColumn = (cpu: number, state: CpuState): string => `cpu${cpu}.${state}`;

/** Names of all columns for a host with these CPUs; nice time counts as user time. */
export function columnNames(cpus: readonly number[]): string[] {
  return [
    ...Object.keys(SCALARS),
    ...cpus.flatMap((cpu) => CPU_STATES.map((state) => cpuColumn(cpu, state))),
  ];
}

/** A sample as a row in the order of `columnNames`; what the sample lacks is NaN. */
export function sampleRow(sample: CounterValues, cpus: readonly number[]): number[] {
  const number = (value: unknown) => (typeof value === 'number' ? value : Number.NaN);
  const row = Object.values(SCALARS).map((read) => number(read(sample)));
  const shares = new Map(sample.cpu?.cpus.map((one) => [one.cpu, one]));
  for (const cpu of cpus) {
    const own = shares.get(cpu);
    for (const state of CPU_STATES) {
      const share = number(own?.[state]);
      row.push(state === 'user' ? share + (own?.nice ?? 0) : share);
    }
  }
  return row;
}
