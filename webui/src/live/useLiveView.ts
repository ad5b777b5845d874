// What a window of the Live page shows now: moving with the samples, or frozen while paused.

import { useCallback, useState, useSyncExternalStore } from 'react';
import { samplesPerPoint } from '../maths/decimate';
import { useLive } from './LiveProvider';
import { type LiveStore, MAX_POINTS } from './liveStore';

export interface LiveView {
  store: LiveStore;
  /** Right edge of the charts, in seconds since the epoch; NaN before the first sample. */
  now: number;
  paused: boolean;
  setPaused(paused: boolean): void;
}

/**
 * Redraws when a point of a window of so many seconds has become complete, which in a long one is every few
 * seconds; never while paused or while the tab is hidden.
 */
export function useLiveView(windowSeconds: number): LiveView {
  const { store } = useLive();
  const [frozenAt, setFrozenAt] = useState<number | null>(null);
  const paused = frozenAt !== null;
  const step = samplesPerPoint(windowSeconds, 1, MAX_POINTS);
  const subscribe = useCallback(
    (redraw: () => void) => {
      const whenVisible = () => document.visibilityState === 'visible' && redraw();
      document.addEventListener('visibilitychange', whenVisible);
      const unsubscribe = paused ? () => {} : store.subscribe(whenVisible);
      return () => {
        document.removeEventListener('visibilitychange', whenVisible);
        unsubscribe();
      };
    },
    [store, paused],
  );
  useSyncExternalStore(subscribe, () => Math.floor(store.now / step));
  const setPaused = useCallback((pause: boolean) => setFrozenAt(pause ? store.now : null), [store]);
  return { store, now: frozenAt ?? store.now, paused, setPaused };
}
