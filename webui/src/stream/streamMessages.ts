// What a tab and the shared worker that holds the live stream say to each other.

import type { LiveEvent } from './events';
import type { ConnectionState } from './liveConnection';

export const LIVE_URL = '/api/v1/live';

export type ToWorker = { ask: 'join'; behind: boolean } | { ask: 'leave' };

/** Which handler of the tab is to be called, with what. */
export type ToTab =
  | { call: 'event'; event: LiveEvent }
  | { call: 'state'; state: ConnectionState }
  | { call: 'resumed' }
  | { call: 'refused' };
