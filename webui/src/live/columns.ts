// Which numbers of a counter sample the Live page keeps, and under which names.

import type { CounterValues } from '../api/generated';

export const CPU_STATES = ['user', 'system', 'irq', 'softirq', 'iowait', 'steal'] as const;
export type CpuState = (typeof CPU_STATES)[number];

const SCALARS: Record<string, (sample: CounterValues) => unknown> = {
  connections: (sample) => sample.server?.connections_open,
  accepts: (sample) => sample.server?.connections_accepted_per_s,
  requests: (sample) => sample.server?.requests_per_s,
  contextSwitches: (sample) => sample.cpu?.context_switches_per_s,
  interrupts: (sample) => sample.cpu?.interrupts_per_s,
  runQueue: (sample) => sample.cpu?.run_queue,
  blocked: (sample) => sample.cpu?.blocked,
  pageCache: (sample) => sample.memory?.page_cache_bytes,
  available: (sample) => sample.memory?.available_bytes,
  listenOverflows: (sample) => sample.network?.listen_overflows_per_s,
  listenDrops: (sample) => sample.network?.listen_drops_per_s,
};

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
  for (const cpu of cpus) {
    const shares = sample.cpu?.cpus.find((candidate) => candidate.cpu === cpu);
    for (const state of CPU_STATES) {
      const share = number(shares?.[state]);
      row.push(state === 'user' ? share + (shares?.nice ?? 0) : share);
    }
  }
  return row;
}
