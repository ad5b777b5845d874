// Which part of which samples charts over time draw. All charts of a page draw the same.

import type { LiveStore, Mark } from '../live/liveStore';

/** A stretch of time: `now` is its right edge in seconds since the epoch, `window` its width in seconds. */
export interface Stretch {
  now: number;
  window: number;
}

export interface TimeView extends Stretch {
  store: LiveStore;
  /** Where trials and rates begin. */
  marks: readonly Mark[];
  /** The time is over: its last values stand however old they are. */
  past?: boolean;
  /** What a place on the time axis is called; seconds before now when left out. */
  formatTime?: (seconds: number) => string;
  /** Shows a part of it, between two places on the time axis; charts are not to be zoomed when left out. */
  onZoom?: (from: number, to: number) => void;
}

/** No part of a view is shorter, in seconds: there is a sample a second. */
export const SHORTEST_S = 5;

/** The stretch between two places on the time axis of a view; widened where it is too short to show anything. */
export function partOf(view: Stretch, from: number, to: number): Stretch {
  const [begin, end] = [Math.max(-view.window, Math.min(from, to)), Math.min(0, Math.max(from, to))];
  const window = Math.max(Math.min(SHORTEST_S, view.window), end - begin);
  return { now: view.now + Math.min(0, Math.max(end, window - view.window)), window };
}

/** The trials of a view, each until the next one begins. */
export function trialsOf({ marks }: Pick<TimeView, 'marks'>): { trial: number; from: number; to: number }[] {
  const begins = marks.filter(({ kind }) => kind === 'trial');
  return begins.map(({ trial, x }, index) => ({ trial, from: x, to: begins[index + 1]?.x ?? 0 }));
}

/** What is measured at a place on the time axis; null before the first trial. */
export const markAt = (marks: readonly Mark[], x: number): Mark | null =>
  marks.findLast((mark) => mark.x <= x) ?? null;
