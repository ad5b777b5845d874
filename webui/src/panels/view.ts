import type { LiveStore, Mark } from '../live/liveStore';

/** What every panel of charts over time needs: where the rows are, and which part of them to draw. */
export interface View {
  store: LiveStore;
  /** Right edge, in seconds since the epoch. */
  now: number;
  /** Width in seconds. */
  window: number;
  /** Where trials and rates begin. */
  marks: readonly Mark[];
  /** The time is over: its last values stand however old they are. */
  past?: true;
  /** What a place on the time axis is called; seconds before now when left out. */
  formatTime?: (seconds: number) => string;
}
