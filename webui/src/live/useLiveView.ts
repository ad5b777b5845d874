// What a window of the Live page shows now: moving with the samples, or frozen while paused.

import { useCallback, useMemo, useState, useSyncExternalStore } from 'react';
import { samplesPerPoint } from '../maths/decimate';
import type { View } from '../panels/view';
import { useLive } from './LiveProvider';
import { MAX_POINTS } from './liveStore';

export interface Pause {
  /** Time of the newest sample when it began, in seconds since the epoch; null while the charts move. */
  frozenAt: number | null;
  setPaused(paused: boolean): void;
}

export function usePause(): Pause {
  const { store } = useLive();
  const [frozenAt, setFrozenAt] = useState<number | null>(null);
  const setPaused = useCallback((pause: boolean) => setFrozenAt(pause ? store.now : null), [store]);
  return { frozenAt, setPaused };
}

/**
 * Redraws when a point of a window of so many seconds has become complete, which in a long one is every few
 * seconds; never while paused or while the tab is hidden. `now` is NaN before the first sample.
 */
export function useLiveView(window: number, frozenAt: number | null): View {
  const { store } = useLive();
  const paused = frozenAt !== null;
  const step = samplesPerPoint(window, 1, MAX_POINTS);
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
  useSyncExternalStore(subscribe, () => `${store.histories} ${Math.floor(store.now / step)}`);
  const now = frozenAt ?? store.now;
  const { version } = store;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that the rows in the store have changed
  return useMemo(
    () => ({ store, now, window, marks: store.marks(now, window) }),
    [store, now, window, version],
  );
}
