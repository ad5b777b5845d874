import { describe, expect, it } from 'vitest';
import type { ConditionsReply, Preset } from '../../api/generated';
import { preset, space } from '../../test/records';
import {
  AS_THE_WORKLOAD,
  capacitySpec,
  concerns,
  type KnobForm,
  NO_OWN_VALUES,
  presetForm,
  refusedCondition,
  runSpec,
  type TuneForm,
  withDefaults,
  withOwnValues,
} from './tuneForm';

const chosen = {
  target: 'core',
  workload: 'specweb99',
  base: '',
  kernel: false,
  own: NO_OWN_VALUES,
  objective: { name: 'condensed-area', limit: '' },
  second: { name: '', limit: '' },
  conditions: AS_THE_WORKLOAD,
  constraints: [],
  ladder: '',
  hosts: [],
  generators: [],
};
const fresh = () => presetForm(preset, space, chosen);
const withKnob = (name: string, change: Partial<KnobForm>): TuneForm => {
  const form = fresh();
  return { ...form, knobs: { ...form.knobs, [name]: { ...(form.knobs[name] as KnobForm), ...change } } };
};

describe('presetForm', () => {
  it('shows the ranges of the preset and keeps fixed what the target fixes', () => {
    const { knobs } = fresh();
    expect(knobs.workers).toMatchObject({ mode: 'search', low: 1, high: 32 });
    expect(knobs.max_connections).toMatchObject({ low: 64, high: 16_384 });
    expect(knobs.backlog).toMatchObject({ mode: 'fixed', value: 1024 });
  });
});

describe('runSpec', () => {
  it('says nothing about knobs and settings nobody has touched', () => {
    expect(runSpec(fresh(), preset, space)).toMatchObject({ knobs: {}, settings: {}, budget_trials: 16 });
  });

  it('fixes a knob', () => {
    expect(runSpec(withKnob('workers', { mode: 'fixed', value: 4 }), preset, space).knobs).toEqual({
      workers: { fixed: 4 },
    });
  });

  it('narrows a range, the cleared end being the knob’s own', () => {
    expect(runSpec(withKnob('workers', { low: '', high: 8 }), preset, space).knobs).toEqual({
      workers: { high: 8 },
    });
  });

  it('frees a knob that the target fixes by giving its range', () => {
    expect(runSpec(withKnob('backlog', { mode: 'search' }), preset, space).knobs).toEqual({
      backlog: { low: 1, high: 65_535 },
    });
  });

  it('sends no choice as no choice, so that the daemon can say what is wrong with it', () => {
    expect(runSpec(withKnob('sendfile', { choices: [] }), preset, space).knobs).toEqual({
      sendfile: { choices: [] },
    });
  });

  it('sends the settings that differ from the preset', () => {
    const form = { ...fresh(), settings: { rate_duration_s: 0.4, ladder_points: 4, gap_s: '' as const } };
    expect(runSpec(form, preset, space).settings).toEqual({ rate_duration_s: 0.4 });
  });
});

it('sends a ladder as numbers, and what is no number as it is, so that the daemon can say what is wrong', () => {
  expect(runSpec({ ...fresh(), ladder: '5000, 1e4,20000' }, preset, space).settings).toEqual({
    ladder: [5000, 10_000, 20_000],
  });
  expect(runSpec({ ...fresh(), ladder: '5000, many,' }, preset, space).settings).toEqual({
    ladder: [5000, 'many', ''],
  });
  expect(runSpec({ ...fresh(), ladder: ' ' }, preset, space).settings).toEqual({});
});

it('measures the capacity of the same server under the same clients, with nothing of the search', () => {
  const clients = { directories: 200, time_scale: 1, timeout_s: 10 };
  const limits = { all_files_limit: 0.1, size_limit: 0.02, size_over_mean_limit: 0.02, confidence: null };
  const thorough: Preset = {
    ...preset,
    name: 'thorough',
    settings: { ...preset.settings, ...clients, rate_duration_s: 40, thresholds: limits },
  };
  const form: TuneForm = {
    ...withKnob('workers', { mode: 'fixed', value: 4 }),
    conditions: { ...AS_THE_WORKLOAD, memory: 'heavy-io' },
    settings: { timeout_s: 3, runners_up: 2 },
    constraints: ['p99 <= 5ms'],
    ladder: '5000,10000',
  };
  expect(capacitySpec(runSpec({ ...form, preset: 'thorough' }, thorough, space), thorough)).toEqual({
    preset: 'capacity',
    target: 'core',
    workload: 'specweb99',
    memory: 'heavy-io',
    knobs: { workers: { fixed: 4 } },
    settings: { ...clients, timeout_s: 3, thresholds: limits, constraints: ['p99 <= 5ms'] },
  });
});

it('an error belongs to the control it names and to the control of its group', () => {
  expect(concerns('knobs.workers.low', 'knobs.workers')).toBe(true);
  expect(concerns('knobs.workers', 'knobs.work')).toBe(false);
  expect(concerns(null, 'seed')).toBe(false);
});

it('sends the conditions that were chosen, and none that are the workload’s own', () => {
  const body = runSpec({ ...fresh(), conditions: { ...AS_THE_WORKLOAD, memory: 'heavy-io' } }, preset, space);
  expect(body.memory).toBe('heavy-io');
  expect(body).not.toHaveProperty('link');
});

it('writes a latency limit into the objective that has one, and a second objective only when chosen', () => {
  const mat = { name: 'mat', limit: ' p999 <= 4ms ' };
  expect(runSpec({ ...fresh(), objective: mat }, preset, space).objective).toBe('mat: p999 <= 4ms');
  expect(runSpec({ ...fresh(), objective: { ...mat, limit: '' } }, preset, space).objective).toBe('mat');
  expect(runSpec(fresh(), preset, space)).not.toHaveProperty('second_objective');
  const second = { name: 'rss', limit: 'left over from mat' };
  expect(runSpec({ ...fresh(), second }, preset, space).second_objective).toBe('rss');
});

it('sends switches, constraints and thresholds only where they differ from the preset', () => {
  const form: TuneForm = {
    ...fresh(),
    switches: { learn: true, profile: false },
    constraints: ['rss <= 500MB'],
    thresholds: { size_limit: 3, all_files_limit: 10 },
  };
  const limits = { all_files_limit: 0.1, size_limit: 0.02, size_over_mean_limit: 0.02 };
  const own = { ...preset, settings: { ...preset.settings, thresholds: limits } };
  expect(runSpec(form, own, space).settings).toEqual({
    learn: true,
    constraints: ['rss <= 500MB'],
    thresholds: { ...limits, size_limit: 0.03 },
  });
});

it('names the first condition that this machine cannot make', () => {
  const known: ConditionsReply = {
    memory: [{ name: 'heavy-io', help: 'Little.', refusal: null }],
    start: [],
    link: [{ name: 'gigabit', help: 'Limited.', refusal: 'There is no ip command.' }],
  };
  expect(refusedCondition(known, { ...AS_THE_WORKLOAD, memory: 'heavy-io' })).toBeNull();
  expect(refusedCondition(known, { ...AS_THE_WORKLOAD, link: 'gigabit' })).toBe('There is no ip command.');
});

it('what a file sets are the defaults, also of knobs that stay fixed; what was changed stays so', () => {
  const own = { file: 'own.conf', values: { backlog: 99, workers: 3 }, eachCpu: { workers: 'auto' } };
  const after = withDefaults(space, own.values);
  const form = withOwnValues(withKnob('workers', { high: 8 }), own, preset, space, after);
  expect(form.knobs.backlog).toMatchObject({ mode: 'fixed', value: 99 });
  expect(form.knobs.workers).toMatchObject({ mode: 'search', high: 8 });
  expect(runSpec(form, preset, after)).toMatchObject({
    defaults: own.values,
    each_cpu: ['workers'],
    knobs: { workers: { low: 1, high: 8 } },
  });
  expect(
    runSpec(withOwnValues(form, { ...own, eachCpu: {} }, preset, after, after), preset, after),
  ).not.toHaveProperty('each_cpu');
  expect(withOwnValues(form, NO_OWN_VALUES, preset, after, space).knobs.backlog).toMatchObject({
    value: 1024,
  });
});

it('asks for the kernel only where it is chosen, and not for a climb, which searches nothing', () => {
  expect(runSpec(fresh(), preset, space)).not.toHaveProperty('kernel');
  const spec = runSpec({ ...fresh(), kernel: true }, preset, space);
  expect(spec.kernel).toBe(true);
  expect(capacitySpec(spec, preset)).not.toHaveProperty('kernel');
});
