// What a window of the Live page shows now: moving with the samples, or standing still while paused, as a whole or a
// part of it.

import { useCallback, useMemo, useState, useSyncExternalStore } from 'react';
import { partOf, type Stretch, type TimeView, viewOfPart } from '../../charts/timeView';
import { samplesPerPoint } from '../../maths/decimate';
import { formatClock } from '../../maths/ticks';
import { MAX_POINTS, type SampleStore } from '../../samples/sampleStore';
import { useLive } from '../../stream/LiveProvider';

export interface Pause {
  /** What there was when it began; null while the charts move. */
  frozen: SampleStore | null;
  /** The part that is shown of it; null for all of the window. */
  part: Stretch | null;
  setPaused(paused: boolean): void;
  /** Shows a part, which pauses; null for all of the window. */
  show(part: Stretch | null): void;
}

export function usePause(): Pause {
  const { store } = useLive();
  const [frozen, setFrozen] = useState<SampleStore | null>(null);
  const [part, setPart] = useState<Stretch | null>(null);
  const setPaused = useCallback(
    (pause: boolean) => {
      setFrozen(pause ? store.frozen() : null);
      setPart(null);
    },
    [store],
  );
  const show = useCallback(
    (wanted: Stretch | null) => {
      if (wanted !== null) setFrozen((before) => before ?? store.frozen());
      setPart(wanted);
    },
    [store],
  );
  return { frozen, part, setPaused, show };
}

/**
 * The whole of a window of so many seconds. Redraws when a point of it has become complete, which in a long one is
 * every few seconds; never while paused or while the tab is hidden. `now` is NaN before the first sample.
 */
export function useLiveView(window: number, { frozen, show }: Pause): TimeView {
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
    () => ({
      store,
      now,
      window,
      marks: store.marks(now, window),
      onZoom: (from: number, to: number) => show(partOf({ now, window }, from, to)),
    }),
    [store, now, window, version, show],
  );
}

/** The part of a whole view that is shown, with the times of the clock; all of it where no part is. */
export function usePart(whole: TimeView, { part, show }: Pause): TimeView {
  return useMemo(
    () => (part === null ? whole : viewOfPart(whole, part, formatClock, show)),
    [whole, part, show],
  );
}
