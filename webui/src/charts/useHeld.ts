import { useRef } from 'react';

/** The value while `live`, and the last one of that time while not. */
export function useHeld<T>(value: T, live: boolean): T {
  const held = useRef(value);
  if (live) held.current = value;
  return held.current;
}
