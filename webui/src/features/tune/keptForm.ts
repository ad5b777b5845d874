// What the Tune form is filled with besides a preset: what its user had changed before, or the settings of a run.

import type { Knob, Preset, RunDetail, Space } from '../../api/generated';
import { readStored, writeStored } from '../../browser/stored';
import type { KnobValue } from '../../maths/knobDiff';
import { searches } from '../../maths/presets';
import { isOfKernel } from '../../maths/space';
import { NUMBER_SETTINGS, SWITCH_SETTINGS, THRESHOLDS } from './settingFields';
import {
  CLIMBING,
  type Conditions,
  type KnobForm,
  knobForm,
  type ObjectiveForm,
  percentOf,
  presetForm,
  runSpec,
  type TuneForm,
  withDefaults,
} from './tuneForm';

const STORED = 'trimtab-tune';

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Remembers the form across pages and visits; null forgets it. */
export const keepForm = (form: TuneForm | null): void =>
  writeStored(STORED, form === null ? null : JSON.stringify(form));

/** What was remembered, of whatever version of this page; null when there is nothing. */
export function keptForm(): Fields | null {
  try {
    const kept: unknown = JSON.parse(readStored(STORED) ?? 'null');
    return isFields(kept) ? kept : null;
  } catch {
    return null;
  }
}

/** Whether a value can stand in the place of another: the same kind, and all that it has. A number may be cleared. */
function standsFor(value: unknown, fresh: unknown): boolean {
  if (Array.isArray(fresh)) return Array.isArray(value);
  if (isFields(fresh)) {
    return isFields(value) && Object.entries(fresh).every(([name, own]) => standsFor(value[name], own));
  }
  return typeof value === typeof fresh || (typeof fresh === 'number' && value === '');
}

/** A fresh form with what of another one fits into it; the knobs of another target do not. */
export function fitted(kept: Fields, fresh: TuneForm): TuneForm {
  // These two have been looked up: what was kept may name what there is no more.
  const { preset, target, knobs, ...others } = fresh;
  const taken = Object.entries(others).filter(([name, own]) => standsFor(kept[name], own));
  const before = isFields(kept.knobs) && kept.target === target ? kept.knobs : {};
  return {
    ...fresh,
    ...Object.fromEntries(taken.map(([name]) => [name, kept[name]])),
    knobs: Object.fromEntries(
      Object.entries(knobs).map(([name, knob]) => {
        const own = before[name];
        return [name, isKnobForm(own) ? own : knob];
      }),
    ),
  };
}

const isKnobForm = (value: unknown): value is KnobForm =>
  isFields(value) &&
  (value.mode === 'search' || value.mode === 'fixed') &&
  Array.isArray(value.choices) &&
  [value.low, value.high].every((bound) => typeof bound === 'number' || bound === '') &&
  (typeof value.value === 'number' || typeof value.value === 'string');

/** Whether anything has been changed that the form's preset decides. */
export const isChanged = (form: TuneForm, preset: Preset, space: Space): boolean =>
  JSON.stringify(runSpec(form, preset, space)) !==
  JSON.stringify(runSpec(presetForm(preset, space, form), preset, space));

/** `mat: p999 <= 4ms` as the form has it. */
function objectiveForm(text: string | null): ObjectiveForm {
  const [name = '', ...limit] = (text ?? '').split(':');
  return { name: name.trim(), limit: limit.join(':').trim() };
}

/** The form with which the same run is started again; a run without a search says nothing about one. */
export function formOfRun(run: RunDetail, preset: Preset, space: Space): TuneForm {
  const { settings } = run;
  const searched = searches(run.preset);
  const changed = (name: string, own: unknown) =>
    (searched || CLIMBING.includes(name)) && settings[name] !== undefined && settings[name] !== own;
  const settled = (fields: readonly { name: string }[]) =>
    Object.fromEntries(
      fields
        .filter(({ name }) => changed(name, preset.settings[name as keyof Preset['settings']]))
        .map(({ name }) => [name, settings[name]]),
    );
  const limits = isFields(settings.thresholds) ? settings.thresholds : {};
  const ladder = Array.isArray(settings.ladder) ? settings.ladder : [];
  const own = run.base === null ? defaultsOfRun(run.space, space) : {};
  const begun = withDefaults(space, own);
  const fresh = presetForm(preset, begun, {
    target: run.target,
    base: run.base ?? '',
    own: { file: '', values: own, eachCpu: eachCpuOf(run.space, own) },
    kernel: run.space.knobs.some(isOfKernel),
    workload: run.workload,
    objective: objectiveForm(run.objective),
    second: objectiveForm(run.second_objective),
    conditions: conditionsOf(run),
    constraints: Array.isArray(settings.constraints) ? settings.constraints.map(String) : [],
    ladder: ladder.join(', '),
    hosts: Object.keys(run.fleet?.hosts ?? {}),
    generators: run.fleet?.generators ?? [],
  });
  return {
    ...fresh,
    ...(searched ? { strategy: run.strategy, budget: run.budget_trials, seed: run.seed } : {}),
    knobs: Object.fromEntries(
      begun.knobs.map((knob) => [knob.name, knobOfRun(run.space, knob, knobForm(knob, begun, preset))]),
    ),
    settings: settled(NUMBER_SETTINGS),
    switches: settled(SWITCH_SETTINGS),
    thresholds: Object.fromEntries(
      THRESHOLDS.flatMap(({ name }) => {
        const [own, usual] = [limits[name], preset.settings.thresholds?.[name]];
        return typeof own === 'number' && own !== usual ? [[name, percentOf(own)]] : [];
      }),
    ),
  };
}

/** The defaults that a run was given, which are not the target's; the kernel's are what it is set to now. */
function defaultsOfRun(searched: Space, space: Space): Record<string, KnobValue> {
  const own = searched.knobs.filter(({ name, default: value }) =>
    space.knobs.some((knob) => knob.name === name && knob.default !== value && !isOfKernel(knob)),
  );
  return Object.fromEntries(own.map(({ name, default: value }) => [name, value]));
}

/** Those of a run's defaults that are one for each CPU; the word by which a file said so is not kept. */
function eachCpuOf(searched: Space, own: Readonly<Record<string, KnobValue>>): Record<string, string> {
  const names = searched.knobs.filter(({ name, each_cpu }) => each_cpu && own[name] !== undefined);
  return Object.fromEntries(names.map(({ name }) => [name, 'auto']));
}

function conditionsOf({ workload_parameters: { definition } }: RunDetail): Conditions {
  const conditions = isFields(definition) && isFields(definition.conditions) ? definition.conditions : {};
  return Object.fromEntries(
    (['memory', 'start', 'link'] as const).map((name) => [name, String(conditions[name] ?? '')]),
  ) as Conditions;
}

function knobOfRun(searched: Space, own: Knob, fresh: KnobForm): KnobForm {
  const fixed: KnobValue | undefined = searched.fixed?.[own.name];
  const knob = searched.knobs.find(({ name }) => name === own.name);
  if (fixed !== undefined) return { ...fresh, mode: 'fixed', value: fixed };
  // A run may have named some knobs of the kernel: the others it left as they were.
  if (knob === undefined) return isOfKernel(own) ? { ...fresh, mode: 'fixed' } : fresh;
  return {
    ...fresh,
    mode: 'search',
    low: knob.low ?? '',
    high: knob.high ?? '',
    choices: [...(knob.choices ?? [])],
  };
}
