import { type RefObject, useEffect, useState } from 'react';

/** How far outside of the window something still counts as on screen: it is drawn before it scrolls in. */
const MARGIN = '200px';

/** Whether the element is to be seen, or nearly. */
export function useOnScreen(element: RefObject<HTMLElement | null>): boolean {
  const [onScreen, setOnScreen] = useState(true);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new IntersectionObserver(([entry]) => setOnScreen(entry?.isIntersecting ?? true), {
      rootMargin: MARGIN,
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return onScreen;
}
