// The state of the Tune form, and what of it goes into the body of POST /runs. Pure, so that it can be tested.
//
// The body holds only what differs from the preset and the target's space: a run's specification then says what
// its user decided, and a daemon with better defaults uses them. Only the climb for the capacity, whose preset is
// another one than the form shows, says all that it has to share with it.

import type {
  ConditionsReply,
  Knob,
  KnobSpec,
  Preset,
  RunSpec,
  Space,
  TargetReply,
  UsualFile,
} from '../../api/generated';
import type { KnobValue } from '../../maths/knobDiff';
import { CAPACITY } from '../../maths/presets';
import type { SettingName, SwitchName, ThresholdName } from './settingFields';

/** What a field consists of, from top to bottom: fields in a row stay level however long the description. */
export const WRAPPER_ORDER: ('label' | 'input' | 'description' | 'error')[] = [
  'label',
  'input',
  'error',
  'description',
];

/** A number field; empty while its user has cleared it. */
export type NumberField = number | '';

/** The number in what a NumberInput reports, which is a text while it is being typed: "0." or "1.0" or "-". */
export function numberField(value: string | number): NumberField {
  const number = typeof value === 'number' ? value : Number.parseFloat(value);
  return Number.isNaN(number) ? '' : number;
}

export interface KnobForm {
  mode: 'search' | 'fixed';
  low: NumberField;
  high: NumberField;
  choices: KnobValue[];
  value: KnobValue | '';
}

export interface ObjectiveForm {
  name: string;
  /** The latency limit of `mat`; empty: derived in the calibration. */
  limit: string;
}

/** What a user's own configuration file sets, which the gain is then measured over. */
export interface OwnValues {
  /** The file's name; empty when its text was pasted. */
  file: string;
  /** By the knobs' names. */
  values: Record<string, KnobValue>;
  /** The words by which the file says of some that they are one for each CPU. */
  eachCpu: Record<string, string>;
}

export const NO_OWN_VALUES: OwnValues = { file: '', values: {}, eachCpu: {} };

export interface TuneForm {
  preset: string;
  target: string;
  /** Path of the user's own configuration file; a browser may name few (`isWithinReach`). */
  base: string;
  own: OwnValues;
  /** Whether the kernel is tuned as well. */
  kernel: boolean;
  workload: string;
  objective: ObjectiveForm;
  /** Without a name: none. */
  second: ObjectiveForm;
  /** Empty: as the workload says. */
  conditions: Conditions;
  /** Limits that must hold at every rate, such as `p999 <= 20ms`. */
  constraints: string[];
  /** Rates in requests per second, between commas; empty: the run makes its ladder, and lets it grow. */
  ladder: string;
  /** Stations of the fleet that carry the trials out; empty: this machine. */
  hosts: string[];
  /** Stations of the fleet that load the servers; empty: each host its own. */
  generators: string[];
  strategy: string;
  budget: NumberField;
  seed: NumberField;
  knobs: Record<string, KnobForm>;
  settings: Partial<Record<SettingName, NumberField>>;
  switches: Partial<Record<SwitchName, boolean>>;
  /** In percent. */
  thresholds: Partial<Record<ThresholdName, NumberField>>;
}

/** What a user has chosen that no preset decides. */
export type Chosen = Pick<
  TuneForm,
  | 'target'
  | 'base'
  | 'own'
  | 'kernel'
  | 'workload'
  | 'objective'
  | 'second'
  | 'conditions'
  | 'constraints'
  | 'ladder'
  | 'hosts'
  | 'generators'
>;

export type ConditionName = 'memory' | 'start' | 'link';
export type Conditions = { [Name in ConditionName]: NonNullable<RunSpec[Name]> | '' };

export const AS_THE_WORKLOAD: Conditions = { memory: '', start: '', link: '' };

/** What the form shows of a knob before anybody has touched it. */
export function knobForm(knob: Knob, space: Space, preset: Preset): KnobForm {
  const ranges = preset.settings.ranges ?? {};
  const range = ranges[knob.name] ?? (knob.role ? ranges[knob.role] : undefined);
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

/** The space with these values as its defaults, as the daemon will have it. */
export function withDefaults(space: Space, values: Readonly<Record<string, KnobValue>>): Space {
  const fixed = Object.entries(space.fixed ?? {}).map(([name, value]) => [name, values[name] ?? value]);
  return {
    ...space,
    knobs: space.knobs.map((knob) => ({ ...knob, default: values[knob.name] ?? knob.default })),
    fixed: Object.fromEntries(fixed),
  };
}

/** The form with other defaults: `before` and `after` are the spaces. What has been changed stays so. */
export function withOwnValues(
  form: TuneForm,
  own: OwnValues,
  preset: Preset,
  before: Space,
  after: Space,
): TuneForm {
  const knobs = after.knobs.map((knob) => {
    const [was, is] = [form.knobs[knob.name], knobForm(knob, after, preset)];
    const old = before.knobs.find(({ name }) => name === knob.name);
    const touched = was && old && JSON.stringify(was) !== JSON.stringify(knobForm(old, before, preset));
    return [knob.name, touched ? was : is];
  });
  return { ...form, own, knobs: Object.fromEntries(knobs) };
}

/** The form as a preset fills it, for the target and workload chosen. */
export function presetForm(
  preset: Preset,
  space: Space,
  {
    target,
    base,
    own,
    kernel,
    workload,
    objective,
    second,
    conditions,
    constraints,
    ladder,
    hosts,
    generators,
  }: Chosen,
): TuneForm {
  return {
    target,
    base,
    own,
    kernel,
    workload,
    objective,
    second,
    conditions,
    constraints,
    ladder,
    hosts,
    generators,
    preset: preset.name,
    strategy: preset.settings.strategy ?? '',
    budget: preset.settings.budget_trials,
    seed: 1,
    knobs: Object.fromEntries(space.knobs.map((knob) => [knob.name, knobForm(knob, space, preset)])),
    settings: {},
    switches: {},
    thresholds: {},
  };
}

const objectiveText = ({ name, limit }: ObjectiveForm): string =>
  name === 'mat' && limit.trim() !== '' ? `mat: ${limit.trim()}` : name;

/** What is between the commas: numbers where they are, else the words, so that the daemon can say what is wrong. */
const ratesIn = (text: string): (number | string)[] =>
  text.split(',').map((rate) => {
    const word = rate.trim();
    return word === '' || Number.isNaN(Number(word)) ? word : Number(word);
  });

/** The settings that differ from the preset's. */
function changedSettings(form: TuneForm, { settings }: Preset): Record<string, unknown> {
  const single = [...Object.entries(form.settings), ...Object.entries(form.switches)].filter(
    ([name, value]) => value !== '' && value !== (settings[name as SettingName | SwitchName] ?? false),
  );
  const limits = Object.entries(form.thresholds).flatMap(([name, percent]) =>
    percent === '' || percent === percentOf(settings.thresholds?.[name as ThresholdName])
      ? []
      : [[name, percent / 100] as const],
  );
  return {
    ...Object.fromEntries(single),
    ...(form.constraints.length > 0 ? { constraints: form.constraints } : {}),
    ...(form.ladder.trim() === '' ? {} : { ladder: ratesIn(form.ladder) }),
    ...(limits.length > 0 ? { thresholds: { ...settings.thresholds, ...Object.fromEntries(limits) } } : {}),
  };
}

/** A share of 1 in percent, without the digits that only binary fractions have. */
export const percentOf = (share: number | null | undefined): NumberField =>
  share === null || share === undefined ? '' : Number((100 * share).toPrecision(6));

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

/** What the file sets that a server is usually run with here. */
export const ofUsualFile = ({ path, values, each_cpu }: UsualFile): OwnValues => ({
  file: path,
  values,
  eachCpu: each_cpu,
});

/** What a run is told of the values that a file sets. */
export function defaultsOf({ values, eachCpu }: Pick<OwnValues, 'values' | 'eachCpu'>): Partial<RunSpec> {
  const names = Object.keys(eachCpu);
  return { defaults: values, ...(names.length === 0 ? {} : { each_cpu: names }) };
}

/** The body of POST /runs and POST /runs/estimate; `withFile`: of a run that begins with the file that is named. */
export function runSpec(form: TuneForm, preset: Preset, space: Space, withFile = false): RunSpec {
  const knobs: Record<string, KnobSpec> = {};
  for (const knob of space.knobs) {
    const own = form.knobs[knob.name];
    const spec = own && knobSpec(own, knobForm(knob, space, preset));
    if (spec) knobs[knob.name] = spec;
  }
  return {
    preset: form.preset,
    target: form.target,
    ...(withFile
      ? { base: form.base }
      : Object.keys(form.own.values).length === 0
        ? {}
        : defaultsOf(form.own)),
    ...(form.kernel ? { kernel: true } : {}),
    workload: form.workload,
    objective: objectiveText(form.objective),
    ...(form.second.name === '' ? {} : { second_objective: objectiveText(form.second) }),
    ...Object.fromEntries(Object.entries(form.conditions).filter(([, value]) => value !== '')),
    strategy: form.strategy,
    ...(form.budget === '' ? {} : { budget_trials: form.budget }),
    ...(form.seed === '' ? {} : { seed: form.seed }),
    ...(form.hosts.length === 0 ? {} : { hosts: form.hosts }),
    ...(form.generators.length === 0 ? {} : { generators: form.generators }),
    knobs,
    settings: changedSettings(form, preset),
  };
}

/** What of a preset makes the files, the clients and the rules: a climb has them from the preset that is shown. */
const MEASURED_ALIKE = ['directories', 'time_scale', 'timeout_s', 'thresholds'] as const;

/** What of the changed settings shapes the climb as well. */
export const CLIMBING: readonly string[] = [
  'directories',
  'time_scale',
  'timeout_s',
  'calibration_start_rps',
  'calibration_step_s',
  'constraints',
  'thresholds',
];

/** The body of POST /runs that measures the capacity of what another one, with `preset`, would tune. */
export function capacitySpec({ settings = {}, ...spec }: RunSpec, preset: Preset): RunSpec {
  const { kernel, objective, second_objective, strategy, budget_trials, seed, hosts, ...measured } = spec;
  const shown = MEASURED_ALIKE.map((name) => [name, preset.settings[name]] as const);
  const changed = Object.entries(settings).filter(([name]) => CLIMBING.includes(name));
  const known = [...shown, ...changed].filter(([, value]) => value !== undefined);
  return { ...measured, preset: CAPACITY, settings: Object.fromEntries(known) };
}

/** Whether a run with the file at this path may be started in the browser: it is listed there, or was sent from here. */
export const isWithinReach = ({ base_files, uploads }: TargetReply, path: string): boolean =>
  base_files.includes(path) || (uploads !== null && path.startsWith(`${uploads}/`));

/** Why this machine cannot make one of the conditions chosen; null when it can make them all. */
export function refusedCondition(known: ConditionsReply, chosen: Conditions): string | null {
  for (const name of ['memory', 'start', 'link'] as const) {
    const refusal = known[name].find((one) => one.name === chosen[name])?.refusal;
    if (refusal) return refusal;
  }
  return null;
}

/** Whether an error about `field` of the body belongs beside the control called `control`. */
export function concerns(field: string | null | undefined, control: string): boolean {
  return field === control || Boolean(field?.startsWith(`${control}.`));
}
