// What a run is doing. Pure.

import type { Progress } from '../api/generated';

/** The phase in words that follow "is". A run that goes on although it is done measures one of its trials again. */
export const phaseOf = (phase: Progress['phase']): string =>
  phase === 'done' ? 'measuring a trial again' : phase;
