/** Calls `turn` when the browser has nothing else to do, at the latest after `longestWaitMs`. */
export function whenIdle(turn: () => void, longestWaitMs: number): void {
  // Not every browser says when it is idle.
  if ('requestIdleCallback' in globalThis) requestIdleCallback(turn, { timeout: longestWaitMs });
  else setTimeout(turn, 0);
}
