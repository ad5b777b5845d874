// What a run is doing. Pure.

import type { Progress } from '../api/generated';

/** In words that follow "is". A run that goes on although it is done measures one of its trials again. */
export function doingOf({ phase, pause }: Pick<Progress, 'phase' | 'pause'>): string {
  if (pause === 'yes') return 'paused';
  return phase === 'done' ? 'measuring a trial again' : phase;
}
