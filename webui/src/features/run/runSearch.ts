// What the address of a run's page says besides the run.

import { type NumberListText, numberListText, textOf, wholeFrom } from '../../maths/numberList';

/**
 * What of a run is looked at: trials (`3`, or `3,7` for several), the knobs on the axes of the heat map, the knob
 * that has a map for each of its values, the level of the search, and the filter and the order of the trials.
 */
export interface RunSearch {
  trial?: NumberListText;
  x?: string | undefined;
  y?: string | undefined;
  by?: string | undefined;
  level?: number | undefined;
  filter?: string | undefined;
  sort?: string | undefined;
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** Reads the address; what it says and the page does not understand becomes undefined. */
export const runSearch = (search: Record<string, unknown>): RunSearch => ({
  trial: numberListText(search.trial),
  x: text(search.x),
  y: text(search.y),
  by: text(search.by),
  level: wholeFrom(1, search.level),
  filter: text(search.filter),
  sort: text(search.sort),
});

/** More curves than these besides the default's and the best's cannot be told apart. */
const MOST_CHOSEN = 5;

/** The address's text with a trial added at the end, or taken away; the oldest goes when there are too many. */
export function toggled(chosen: readonly number[], trial: number): NumberListText {
  const next = chosen.includes(trial) ? chosen.filter((one) => one !== trial) : [...chosen, trial];
  return textOf(next.slice(-MOST_CHOSEN));
}
