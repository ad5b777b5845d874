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

/** Whether a run that is started here may begin with the server's own file, and not only with the values that it sets. */
export const beginsWithFile = ({ file, base_files }: TargetReply): boolean =>
  file !== null && file.trouble === '' && base_files.includes(file.path);

/** A quick run whose gain is measured over the server's own file, or over what that sets. */
export function quickRun(server: TargetReply): RunSpec {
  const { name, file } = server;
  const eachCpu = Object.keys(file?.each_cpu ?? {});
  const from =
    file !== null && beginsWithFile(server)
      ? { base: file.path }
      : { defaults: file?.values ?? {}, ...(eachCpu.length === 0 ? {} : { each_cpu: eachCpu }) };
  return { preset: 'quick', target: name, ...from };
}
