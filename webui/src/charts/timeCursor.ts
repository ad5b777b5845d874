// The one cursor of all charts over time on a page: where the pointer is on the time axis that they share.
//
// It moves with every frame, and only a line and a few numbers of each chart follow; nothing is drawn anew.

import { useSyncExternalStore } from 'react';
import type { Point } from '../maths/decimate';

let place: number | null = null;
let wanted: number | null = null;
let scheduled = false;
const listeners = new Set<() => void>();

/** Puts the cursor at `seconds` before the right edge (0 or less); null takes it away. */
export function moveCursor(seconds: number | null): void {
  wanted = seconds;
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    if (place === wanted) return;
    place = wanted;
    for (const listener of listeners) listener();
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Where the cursor is, in seconds before the right edge; null while there is none. */
export const useCursor = (): number | null => useSyncExternalStore(subscribe, () => place);

/** A point farther away than this share of the window says nothing about a place, nor one this many seconds away. */
const NEAR_SHARE = 0.01;
const NEAR_S = 2;

/** The value nearest to a place on the time axis; NaN in a gap. */
export function valueAt(points: readonly Point[], x: number, windowSeconds: number): number {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle] as Point).x < x) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [points[low - 1], points[low]];
  const nearest = before && (!after || x - before.x < after.x - x) ? before : after;
  const near = Math.max(NEAR_S, NEAR_SHARE * windowSeconds);
  return nearest && Math.abs(nearest.x - x) <= near ? nearest.y : Number.NaN;
}
