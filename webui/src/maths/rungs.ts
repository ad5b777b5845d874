// What the rungs of a ladder count: offered rates in an open loop, numbers of connections in a closed one, which
// take the place of the rates in everything the API tells.

import type { RunDetail } from '../api/generated';
import { formatConnections, formatCount, formatRate } from './format';

export interface Rungs {
  /** The name of one, for an axis or the head of a column. */
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

/** What they are where all these are shown together; also of none. */
export function rungsOf(...loops: RunDetail['loop'][]): Rungs {
  if (!loops.includes('closed')) return OPEN;
  return loops.includes('open') ? EITHER : CLOSED;
}
