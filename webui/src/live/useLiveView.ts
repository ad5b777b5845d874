// What a window of the Live page shows now: moving with the samples, or frozen while paused.

import { useCallback, useMemo, useState, useSyncExternalStore } from 'react';
import { samplesPerPoint } from '../maths/decimate';
import type { View } from '../panels/view';
import { useLive } from './LiveProvider';
import { type LiveStore, MAX_POINTS } from './liveStore';

export interface Pause {
  /** What there was when it began; null while the charts move. */
  frozen: LiveStore | null;
  setPaused(paused: boolean): void;
}

export function usePause(): Pause {
  const { store } = useLive();
  const [frozen, setFrozen] = useState<LiveStore | null>(null);
  const setPaused = useCallback((pause: boolean) => setFrozen(pause ? store.frozen() : null), [store]);
  return { frozen, setPaused };
}

/**
 * Redraws when a point of a window of so many seconds has become complete, which in a long one is every few
 * seconds; never while paused or while the tab is hidden. `now` is NaN before the first sample.
 */
export function useLiveView(window: number, frozen: LiveStore | null): View {
  const { store: moving } = useLive();
  const store = frozen ?? moving;
  const step = samplesPerPoint(window, 1, MAX_POINTS);
  const subscribe = useCallback(
    (redraw: () => void) => {
      const whenVisible = () => document.visibilityState === 'visible' && redraw();
      document.addEventListener('visibilitychange', whenVisible);
      const unsubscribe = store.subscribe(whenVisible);
      return () => {
        document.removeEventListener('visibilitychange', whenVisible);
        unsubscribe();
      };
    },
    [store],
  );
  useSyncExternalStore(subscribe, () => `${store.histories} ${Math.floor(store.now / step)}`);
  const { now, version } = store;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that the rows in the store have changed
  return useMemo(
    () => ({ store, now, window, marks: store.marks(now, window) }),
    [store, now, window, version],
  );
}
