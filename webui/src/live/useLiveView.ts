// What a window of the Live page shows now: moving with every sample, or frozen while paused.

import { useCallback, useState, useSyncExternalStore } from 'react';
import { useLive } from './LiveProvider';
import type { LiveStore } from './liveStore';

export interface LiveView {
  store: LiveStore;
  /** Right edge of the charts, in seconds since the epoch; NaN before the first sample. */
  now: number;
  paused: boolean;
  setPaused(paused: boolean): void;
}

/** Redraws when the store has changed, except while paused or while the tab is hidden. */
export function useLiveView(): LiveView {
  const { store } = useLive();
  const [frozenAt, setFrozenAt] = useState<number | null>(null);
  const paused = frozenAt !== null;
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
  useSyncExternalStore(subscribe, store.getVersion);
  const setPaused = useCallback((pause: boolean) => setFrozenAt(pause ? store.now : null), [store]);
  return { store, now: frozenAt ?? store.now, paused, setPaused };
}
