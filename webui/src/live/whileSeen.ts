// A tab that nobody sees lets go of what it holds: browsers allow six connections to a host, in all tabs together.

/** Whoever looks into another tab for a moment finds this one as it was, in ms. */
export const PATIENCE_MS = 30_000;

/** Calls `rest` once the tab has been hidden for a while, and `wake` when it is seen after that; returns the end. */
export function whileSeen({ rest, wake }: { rest: () => void; wake: () => void }): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let resting = false;
  const look = () => {
    clearTimeout(timer);
    if (document.visibilityState === 'hidden') {
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
