import type { LiveStore } from '../../live/liveStore';

/** What every panel of the Live page needs: where the rows are, and which part of them to draw. */
export interface View {
  store: LiveStore;
  /** Right edge, in seconds since the epoch. */
  now: number;
  /** Width in seconds. */
  window: number;
}
