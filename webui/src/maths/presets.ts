/** The preset without a search, which is started by a button of its own. */
export const CAPACITY = 'capacity';
