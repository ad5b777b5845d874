import type { RunSummary } from '../api/generated';

/** The preset without a search, which is started by a button of its own. */
export const CAPACITY = 'capacity';

/** Whether a run only measures what its configuration can do: no search, no confirmation, no files. */
export const isCapacityOnly = ({ preset }: Pick<RunSummary, 'preset'>): boolean => preset === CAPACITY;
