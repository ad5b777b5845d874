// The fleet in words: states, health, machines, how hosts differ. Pure.

import type { StationView } from '../../api/generated';
import { formatCount, formatPercent } from '../../maths/format';

export const STATE_WORDS: Readonly<Record<string, string>> = {
  ready: 'ready',
  draining: 'leaves when it has finished',
  left: 'has left',
  absent: 'is not there',
  unrecorded: 'is not in this database',
};

/** How much attention its state deserves. */
export function toneOf({ state, settled }: StationView): 'good' | 'warn' | 'bad' | undefined {
  if (state === 'absent') return 'bad';
  if (!settled && state === 'left') return 'bad';
  return state === 'draining' || state === 'unrecorded' ? 'warn' : undefined;
}

/** How its machine is; of one that is not there what is known of its settings. */
export function healthOf(station: StationView, bytes: (value: number) => string): string {
  const { cpu_percent, free_memory_bytes, settled, run_id, state } = station;
  const told: string[] = [];
  if (cpu_percent !== null) told.push(`CPU ${formatPercent(cpu_percent / 100)}`);
  if (free_memory_bytes !== null) told.push(`${bytes(free_memory_bytes)} free`);
  if (!settled && run_id === null) told.push('settings not put back');
  return told.join(', ') || (state === 'left' ? 'settings put back' : '–');
}

/** Its network cards, with driver and speed as far as they are known. */
export const cardsOf = ({ network_cards }: StationView): string =>
  network_cards
    .map(({ name, driver, speed_mbps }) =>
      [name, driver, speed_mbps === null ? null : `${formatCount(speed_mbps)}\u00a0Mbit/s`]
        .filter(Boolean)
        .join(' '),
    )
    .join(', ');

/** The servers that can be measured there, with their versions. */
export const serversOf = ({ servers }: StationView): string =>
  Object.entries(servers)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');

export type Level = Pick<StationView, 'name' | 'level_before'> & { level: number };

/** The hosts whose level is known, the fastest first. */
export const levelsOf = (stations: readonly StationView[]): Level[] =>
  stations
    .flatMap(({ name, level, level_before }) => (level === null ? [] : [{ name, level, level_before }]))
    .toSorted((a, b) => b.level - a.level);

/** How far a level has moved, as a share; null where there is nothing to compare it with. */
export const driftOf = (level: number, before: number | null): number | null =>
  before === null ? null : level / before - 1;
