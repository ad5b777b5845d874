// Which servers the first page offers, and the run that it starts of one. Pure.

import type { RunSpec, TargetReply } from '../../api/generated';

/** Trimtab's own server: what is tuned where nothing else is installed. */
const FALLBACK = 'core';

/**
 * The servers that are installed: the one whose own file sets the most first, as it is the likeliest to be in use;
 * Trimtab's own last.
 */
export function offered(targets: readonly TargetReply[]): TargetReply[] {
  const weight = ({ name, file }: TargetReply) =>
    name === FALLBACK ? -2 : file === null ? -1 : Object.keys(file.values).length;
  return targets.filter(({ missing }) => missing === '').toSorted((a, b) => weight(b) - weight(a));
}

/** A quick run whose gain is measured over what the server's own file sets. */
export const quickRun = ({ name, file }: TargetReply): RunSpec => ({
  preset: 'quick',
  target: name,
  defaults: file?.values ?? {},
});
