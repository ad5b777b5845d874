// What the name of a preset says of a run. Presets without a search are no choice on the Tune page.

import type { RunSummary } from '../api/generated';

type Named = Pick<RunSummary, 'preset'>;

/** The preset that climbs to one configuration's capacity, which is started by a button of its own. */
export const CAPACITY = 'capacity';

/** The preset that measures two files against each other, which is started on the command line. */
const COMPARE = 'compare';

/** Whether a run only measures what its configuration can do: no search, no confirmation, no files. */
export const isCapacityOnly = ({ preset }: Named): boolean => preset === CAPACITY;

/** Whether a run measures an old and a new file of a server against each other. */
export const isOfTwoFiles = ({ preset }: Named): boolean => preset === COMPARE;

/** Whether a preset looks for configurations. */
export const searches = (preset: string): boolean => preset !== CAPACITY && preset !== COMPARE;
