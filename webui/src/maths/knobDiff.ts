// What sets a configuration apart from the default, and which lines of two texts differ.

export type KnobValue = string | number;

export interface KnobChange {
  knob: string;
  from: KnobValue | undefined;
  to: KnobValue | undefined;
}

/** The knobs whose values differ, in the order of the default, then those only the other has. */
export function changedKnobs(
  base: Readonly<Record<string, KnobValue>>,
  other: Readonly<Record<string, KnobValue>>,
): KnobChange[] {
  const names = [...Object.keys(base), ...Object.keys(other).filter((name) => !(name in base))];
  return names
    .filter((name) => base[name] !== other[name])
    .map((knob) => ({ knob, from: base[knob], to: other[knob] }));
}

/** `workers=4 max_connections=4096`: a configuration in one line, in the order given. */
export function describeConfiguration(
  configuration: Readonly<Record<string, KnobValue | undefined>>,
): string {
  return Object.entries(configuration)
    .map(([knob, value]) => `${knob}=${value}`)
    .join(' ');
}

/** Whether two configurations give every knob the same value. */
export function sameConfiguration(
  a: Readonly<Record<string, KnobValue>> | null | undefined,
  b: Readonly<Record<string, KnobValue>> | null | undefined,
): boolean {
  return Boolean(a && b) && changedKnobs(a ?? {}, b ?? {}).length === 0;
}
