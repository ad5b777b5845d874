import { expect, it } from 'vitest';
import { station } from '../../test/records';
import { cardsOf, driftOf, healthOf, levelsOf, serversOf, toneOf } from './words';

const bytes = (value: number) => `${value} B`;

it('tells how a machine is, and when its settings are not back', () => {
  expect(healthOf(station(), bytes)).toBe('CPU 12\u00a0%, 1000 B free');
  const killed = station({ cpu_percent: null, free_memory_bytes: null, settled: false });
  expect(healthOf(killed, bytes)).toBe('settings not put back');
  const left = station({ cpu_percent: null, free_memory_bytes: null, state: 'left' });
  expect(healthOf(left, bytes)).toBe('settings put back');
});

it('says nothing of settings while a trial has changed them', () => {
  expect(healthOf(station({ settled: false, run_id: 3 }), bytes)).not.toContain('settings');
});

it('draws attention to stations that are not there', () => {
  expect(toneOf(station())).toBeUndefined();
  expect(toneOf(station({ state: 'absent' }))).toBe('bad');
  expect(toneOf(station({ state: 'draining' }))).toBe('warn');
  expect(toneOf(station({ state: 'unrecorded' }))).toBe('warn');
});

it('names cards and servers with what is known of them', () => {
  const cards = [
    { name: 'eth0', driver: 'ixgbe', speed_mbps: 10_000 },
    { name: 'eth1', driver: null, speed_mbps: null },
  ];
  expect(cardsOf(station({ network_cards: cards }))).toBe('eth0 ixgbe 10,000\u00a0Mbit/s, eth1');
  expect(serversOf(station())).toBe('core 0.1.0, nginx 1.22.1');
});

it('orders hosts by their level, and says how far one has moved', () => {
  const levels = levelsOf([
    station({ name: 'slow', level: 0.9, level_before: null }),
    station({ name: 'fast', level: 1.1, level_before: 1.0 }),
    station({ name: 'unknown', level: null }),
  ]);
  expect(levels.map(({ name }) => name)).toEqual(['fast', 'slow']);
  expect(driftOf(1.1, 1.0)).toBeCloseTo(0.1);
  expect(driftOf(0.9, null)).toBeNull();
});
