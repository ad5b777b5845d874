// A tab that nobody sees lets go of what it holds, and draws nothing until it is seen again.

/** Whoever looks into another tab for a moment finds this one as it was, in ms. */
export const PATIENCE_MS = 30_000;

/**
 * Calls `wake` when the tab is seen, also the first time, and `rest` once it has been hidden for a while after that;
 * returns the end of it.
 */
export function whileSeen({ rest, wake }: { rest: () => void; wake: () => void }): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let resting = true;
  const look = () => {
    clearTimeout(timer);
    if (document.visibilityState === 'hidden') {
      if (resting) return;
      timer = setTimeout(() => {
        resting = true;
        rest();
      }, PATIENCE_MS);
    } else if (resting) {
      resting = false;
      wake();
    }
  };
  document.addEventListener('visibilitychange', look);
  look();
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
  };
}
