// The state of the Tune form, and what of it goes into the body of POST /runs. Pure, so that it can be tested.
//
// The body holds only what differs from the preset and the target's space: a run's specification then says what
// its user decided, and a daemon with better defaults uses them.

import type { Knob, KnobSpec, Preset, RunSpec, Settings, Space } from '../../api/generated';
import type { KnobValue } from '../../maths/knobDiff';

/** What a field consists of, from top to bottom: fields in a row stay level however long the description. */
export const WRAPPER_ORDER: ('label' | 'input' | 'description' | 'error')[] = [
  'label',
  'input',
  'error',
  'description',
];

/** A number field; empty while its user has cleared it. */
export type NumberField = number | '';

/** What a NumberInput reports, without its intermediate texts such as "-". */
export function numberField(value: string | number): NumberField {
  return typeof value === 'number' ? value : '';
}

export interface KnobForm {
  mode: 'search' | 'fixed';
  low: NumberField;
  high: NumberField;
  choices: KnobValue[];
  value: KnobValue | '';
}

export interface TuneForm {
  preset: string;
  target: string;
  workload: string;
  objective: string;
  /** Empty: as the workload says. */
  conditions: Conditions;
  strategy: string;
  budget: NumberField;
  seed: NumberField;
  knobs: Record<string, KnobForm>;
  settings: Partial<Record<SettingName, NumberField>>;
}

export type ConditionName = 'memory' | 'start' | 'link';
export type Conditions = { [Name in ConditionName]: NonNullable<RunSpec[Name]> | '' };

export const AS_THE_WORKLOAD: Conditions = { memory: '', start: '', link: '' };

/** What can be chosen about the conditions of a workload, each with a sentence. */
export const CONDITIONS = [
  {
    name: 'memory',
    label: 'Memory',
    options: [
      { value: '', label: 'as the workload says', help: 'What its definition asks for.' },
      { value: 'unlimited', label: 'unlimited', help: 'The server and the page cache may use all there is.' },
      { value: 'in-memory', label: 'in memory', help: 'A limit that just holds the whole file set.' },
      {
        value: 'moderate-io',
        label: 'moderate I/O',
        help: 'A part of the file set must be read from the disk.',
      },
      { value: 'heavy-io', label: 'heavy I/O', help: 'Most of the file set must be read from the disk.' },
    ],
  },
  {
    name: 'start',
    label: 'Start',
    options: [
      { value: '', label: 'as the workload says', help: 'What its definition asks for.' },
      { value: 'warm', label: 'warm', help: 'Every file is read once before a trial measures.' },
      { value: 'cold', label: 'cold', help: 'The page cache begins empty.' },
    ],
  },
  {
    name: 'link',
    label: 'Link',
    options: [
      { value: '', label: 'as the workload says', help: 'What its definition asks for.' },
      { value: 'loopback', label: 'loopback', help: 'Clients reach the server within this host.' },
      {
        value: 'hundred-megabit',
        label: '100 Mbit/s',
        help: 'Clients in a namespace behind limited interfaces.',
      },
      { value: 'gigabit', label: '1 Gbit/s', help: 'Clients in a namespace behind limited interfaces.' },
      {
        value: 'eight-gigabit',
        label: '8 Gbit/s',
        help: 'Clients in a namespace behind limited interfaces.',
      },
    ],
  },
] as const satisfies readonly {
  name: ConditionName;
  label: string;
  options: readonly { value: Conditions[ConditionName]; label: string; help: string }[];
}[];

/** Settings of a preset that the form lets one change, with what they mean. */
export const ADVANCED_SETTINGS = [
  {
    name: 'rate_duration_s',
    label: 'Time per rate',
    unit: 's',
    help: 'How long each rate of the ladder is driven.',
  },
  {
    name: 'warmup_s',
    label: 'Warm-up per rate',
    unit: 's',
    help: 'The first part of each rate, which does not count.',
  },
  { name: 'timeout_s', label: 'Client timeout', unit: 's', help: 'After it a session gives up.' },
  { name: 'gap_s', label: 'Pause between rates', unit: 's', help: 'Lets closed connections drain.' },
  {
    name: 'ladder_points',
    label: 'Rates in the ladder',
    unit: '',
    help: 'Each trial is driven at so many rates.',
  },
  {
    name: 'confirmation_repeats',
    label: 'Confirmation repeats',
    unit: '',
    help: 'How often winner and default are measured again; narrows the interval.',
  },
  { name: 'runners_up', label: 'Runners-up', unit: '', help: 'Further finalists in the confirmation.' },
  { name: 'levels', label: 'Search levels', unit: '', help: 'The coarse grid and so many finer ones.' },
  { name: 'directories', label: 'File set', unit: 'directories', help: 'About 5 MB of files each.' },
  {
    name: 'time_scale',
    label: 'Think time scale',
    unit: '×',
    help: 'Multiplies the pauses between requests.',
  },
  {
    name: 'calibration_step_s',
    label: 'Calibration step',
    unit: 's',
    help: 'Time per rate while calibrating.',
  },
] as const satisfies readonly { name: keyof Settings; label: string; unit: string; help: string }[];

export type SettingName = (typeof ADVANCED_SETTINGS)[number]['name'];

/** What the form shows of a knob before anybody has touched it. */
export function knobForm(knob: Knob, space: Space, preset: Preset): KnobForm {
  const range = preset.settings.ranges?.[knob.name];
  const fixed = space.fixed?.[knob.name];
  const low = knob.low ?? '';
  const high = knob.high ?? '';
  return {
    mode: fixed === undefined ? 'search' : 'fixed',
    low: low === '' || !range ? low : Math.max(low, range.low),
    high: high === '' || !range ? high : Math.min(high, range.high),
    choices: [...(knob.choices ?? [])],
    value: fixed ?? knob.default,
  };
}

/** The form as a preset fills it, for the target and workload chosen. */
export function presetForm(
  preset: Preset,
  space: Space,
  chosen: Pick<TuneForm, 'target' | 'workload' | 'objective' | 'conditions'>,
): TuneForm {
  const { target, workload, objective, conditions } = chosen;
  return {
    target,
    workload,
    objective,
    conditions,
    preset: preset.name,
    strategy: preset.settings.strategy ?? '',
    budget: preset.settings.budget_trials,
    seed: 1,
    knobs: Object.fromEntries(space.knobs.map((knob) => [knob.name, knobForm(knob, space, preset)])),
    settings: {},
  };
}

function knobSpec(form: KnobForm, initial: KnobForm): KnobSpec | null {
  if (JSON.stringify(form) === JSON.stringify(initial)) return null;
  if (form.mode === 'fixed') {
    return form.value === '' || (initial.mode === 'fixed' && form.value === initial.value)
      ? null
      : { fixed: form.value };
  }
  if (form.choices.length > 0 || initial.choices.length > 0) return { choices: form.choices };
  return {
    ...(form.low === '' ? {} : { low: form.low }),
    ...(form.high === '' ? {} : { high: form.high }),
  };
}

/** The body of POST /runs and POST /runs/estimate. */
export function runSpec(form: TuneForm, preset: Preset, space: Space): RunSpec {
  const knobs: Record<string, KnobSpec> = {};
  for (const knob of space.knobs) {
    const own = form.knobs[knob.name];
    const spec = own && knobSpec(own, knobForm(knob, space, preset));
    if (spec) knobs[knob.name] = spec;
  }
  const settings = Object.entries(form.settings).filter(
    ([name, value]) => value !== '' && value !== preset.settings[name as SettingName],
  );
  return {
    preset: form.preset,
    target: form.target,
    workload: form.workload,
    objective: form.objective,
    ...Object.fromEntries(Object.entries(form.conditions).filter(([, value]) => value !== '')),
    strategy: form.strategy,
    ...(form.budget === '' ? {} : { budget_trials: form.budget }),
    ...(form.seed === '' ? {} : { seed: form.seed }),
    knobs,
    settings: Object.fromEntries(settings),
  };
}

/** Whether an error about `field` of the body belongs beside the control called `control`. */
export function concerns(field: string | null | undefined, control: string): boolean {
  return field === control || Boolean(field?.startsWith(`${control}.`));
}
