// A view is what charts over time draw: a stretch of time of the samples in a store, with its marks. All charts of a
// page draw the same view.

import type { Mark, SampleStore } from '../samples/sampleStore';

/** A stretch of time: `now` is its right edge in seconds since the epoch, `window` its width in seconds. */
export interface Stretch {
  now: number;
  window: number;
}

/** What a chart asks of a store: the values of a column in the window, in seconds before its right edge. */
export type Points = Pick<SampleStore, 'points'>;

export interface TimeView<Store extends Points = SampleStore> extends Stretch {
  store: Store;
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

/** A stretch of a store's time as a view that stands still; `formatAt` names a time, in seconds since the epoch. */
export function viewOfPart(
  { store }: Pick<TimeView, 'store'>,
  part: Stretch,
  formatAt: (time: number) => string,
  show: (part: Stretch) => void,
): TimeView {
  return {
    ...part,
    store,
    marks: store.marks(part.now, part.window),
    past: true,
    formatTime: (x) => formatAt(part.now + x),
    onZoom: (from, to) => show(partOf(part, from, to)),
  };
}

/** The trials of a view, each until the next one begins. */
export function trialsOf({ marks }: Pick<TimeView, 'marks'>): { trial: number; from: number; to: number }[] {
  const begins = marks.filter(({ kind }) => kind === 'trial');
  return begins.map(({ trial, x }, index) => ({ trial, from: x, to: begins[index + 1]?.x ?? 0 }));
}

/** The rates of a view, each until the next one begins. */
export const ratesOf = ({ marks }: Pick<TimeView, 'marks'>): { rate: number; from: number; to: number }[] =>
  marks.map(({ rate, x }, index) => ({ rate, from: x, to: marks[index + 1]?.x ?? 0 }));

/** What is measured at a place on the time axis; null before the first trial. */
export const markAt = (marks: readonly Mark[], x: number): Mark | null =>
  marks.findLast((mark) => mark.x <= x) ?? null;
