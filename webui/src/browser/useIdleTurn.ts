// Takes turns at what is slow to draw: one chart at a time, when the browser has nothing else to do, so that a
// click never waits for more than one.

import { useEffect, useState } from 'react';
import { whenIdle } from './whenIdle';

/** A busy page gives the next turn all the same after so many milliseconds. */
const LONGEST_WAIT_MS = 300;

const waiting = new Set<() => void>();
let scheduled = false;

function schedule(): void {
  if (scheduled || waiting.size === 0) return;
  scheduled = true;
  whenIdle(() => {
    scheduled = false;
    const [first] = waiting;
    if (first === undefined) return;
    waiting.delete(first);
    first();
    schedule();
  }, LONGEST_WAIT_MS);
}

/** False at first, true from this component's turn on. */
export function useIdleTurn(): boolean {
  const [due, setDue] = useState(false);
  useEffect(() => {
    const turn = () => setDue(true);
    waiting.add(turn);
    schedule();
    return () => {
      waiting.delete(turn);
    };
  }, []);
  return due;
}
