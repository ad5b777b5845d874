// What the space of a run says of its configurations.

import type { Knob, Space } from '../api/generated';
import type { Configuration } from './heatMapGrid';

/** The default of each free knob and the value of each fixed one. */
export function defaultConfiguration(space: Space): Configuration {
  const fixed = space.fixed ?? {};
  return Object.fromEntries(space.knobs.map(({ name, default: value }) => [name, fixed[name] ?? value]));
}

/** Names of the knobs the strategy may set, in the order of the space. */
export function freeKnobs(space: Space): string[] {
  return space.knobs.map(({ name }) => name).filter((name) => !(name in (space.fixed ?? {})));
}

/** Whether a knob is one of the kernel's, and none of the server's. */
export const isOfKernel = ({ scope }: Knob): boolean => scope === 'namespace' || scope === 'host';

/** The part of a configuration that can differ between the trials of a run. */
export function freePart(configuration: Configuration, space: Space): Configuration {
  return Object.fromEntries(freeKnobs(space).map((name) => [name, configuration[name] ?? '']));
}

/** That part as it is put to use: a default that is one for each CPU is that, not the number of them in the run. */
export function partToUse(configuration: Configuration, space: Space): Configuration {
  const eachCpu = new Map(
    space.knobs.filter((knob) => knob.each_cpu).map(({ name, default: value }) => [name, value]),
  );
  return Object.fromEntries(
    Object.entries(freePart(configuration, space)).map(([name, value]) => [
      name,
      eachCpu.get(name) === value ? 'one for each CPU' : value,
    ]),
  );
}
