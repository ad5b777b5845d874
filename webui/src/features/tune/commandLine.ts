// The command that starts the same run in a terminal. Pure.

import type { KnobSpec, RunSpec, Space } from '../../api/generated';

const PLAIN = /^[\w@%+=:,./-]+$/;

/** A word as a shell takes it. */
const quoted = (word: string): string => (PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

function knobText(
  { fixed, low, high, choices }: KnobSpec,
  bounds: { low?: number | null; high?: number | null },
) {
  if (fixed !== undefined && fixed !== null) return String(fixed);
  if (choices) return choices.join(',');
  return `${low ?? bounds.low}:${high ?? bounds.high}`;
}

/** The command with an option for all that the specification says; `base` is the user's own file, if any. */
export function commandLine(command: 'tune' | 'capacity', spec: RunSpec, space: Space, base: string): string {
  const options: [string, string | number | null | undefined][] = [
    ['preset', command === 'tune' ? spec.preset : null],
    ['target', spec.target],
    ['base', base.trim() || null],
    ['workload', spec.workload],
    ['memory', spec.memory],
    ['start', spec.start],
    ['link', spec.link],
    ['objective', spec.objective],
    ['second-objective', spec.second_objective],
    ['strategy', spec.strategy],
    ['seed', spec.seed],
    ['budget', spec.budget_trials],
    ...(spec.hosts ?? []).map((name): [string, string] => ['host', name]),
    ...(spec.generators ?? []).map((name): [string, string] => ['generator', name]),
    ...Object.entries(spec.knobs ?? {}).map(([name, knob]): [string, string] => [
      'knob',
      `${name}=${knobText(knob, space.knobs.find((one) => one.name === name) ?? {})}`,
    ]),
    ...(spec.keep ?? []).map((name): [string, string] => ['keep', name]),
    ...Object.entries(spec.settings ?? {}).map(([name, value]): [string, string] => [
      'set',
      `${name}=${JSON.stringify(value)}`,
    ]),
  ];
  const flags = spec.kernel ? ['--kernel'] : [];
  const words = options.flatMap(([name, value]) =>
    value === null || value === undefined || value === '' ? [] : [`--${name} ${quoted(String(value))}`],
  );
  return [`trimtab ${command}`, ...flags, ...words].join(' ');
}
