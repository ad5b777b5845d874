// For what is slow to draw and not looked at first.

import { type ReactNode, useDeferredValue } from 'react';

/** Draws its children after what else is new on the page, in slices that give way to clicks. */
export function DrawLater({ children }: { children: ReactNode }) {
  const due = useDeferredValue(true, false);
  return due ? children : null;
}
