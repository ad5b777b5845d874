// A rung is one step of a run's ladder. An open loop climbs offered rates. A closed loop climbs numbers of
// connections, which stand in the place of the rates in everything the API tells. This file has the words for both.

import type { RunDetail } from '../api/generated';
import { formatConnections, formatCount, formatRate } from './format';

export interface Rungs {
  /** The name of one rung, for an axis or the head of a column. */
  name: string;
  /** What a curve over all of them is over. */
  over: string;
  format(rung: number | null | undefined): string;
}

const OPEN: Rungs = { name: 'Rate', over: 'offered rate', format: formatRate };

const CLOSED: Rungs = {
  name: 'Connections',
  over: 'connections',
  format: formatConnections,
};

const EITHER: Rungs = {
  name: 'Rate or connections',
  over: 'offered rate or connections',
  format: formatCount,
};

/** What the rungs count where runs with these loops are shown together; offered rates where there is no run. */
export function rungsOf(...loops: RunDetail['loop'][]): Rungs {
  if (!loops.includes('closed')) return OPEN;
  return loops.includes('open') ? EITHER : CLOSED;
}
