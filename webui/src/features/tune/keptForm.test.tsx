import { describe, expect, it } from 'vitest';
import { preset, run, space } from '../../test/records';
import { fitted, formOfRun, isChanged, keepForm, keptForm } from './keptForm';
import { AS_THE_WORKLOAD, NO_OWN_VALUES, presetForm, runSpec, type TuneForm } from './tuneForm';

const fresh = () =>
  presetForm(preset, space, {
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
  });

describe('the form that is kept', () => {
  it('is what it was, after a visit to another page or another day', () => {
    const form: TuneForm = { ...fresh(), budget: '', ladder: '1000', settings: { gap_s: 2 } };
    keepForm(form);
    expect(fitted(keptForm() ?? {}, fresh())).toEqual(form);
    keepForm(null);
    expect(keptForm()).toBeNull();
  });

  it('gives way where it is of another version of the page, or no form at all', () => {
    const { workers } = fresh().knobs;
    const kept = {
      ...fresh(),
      budget: 'many',
      constraints: 'p99',
      objective: { name: 'mat' },
      seed: 9,
      knobs: { workers: { ...workers, mode: 'sometimes' }, gone: workers },
    };
    expect(fitted(kept, fresh())).toEqual({ ...fresh(), seed: 9 });
    localStorage.setItem('trimtab-tune', '{"target"');
    expect(keptForm()).toBeNull();
  });

  it('keeps all but the knobs when the target is another', () => {
    const form = { ...fresh(), seed: 9, target: 'nginx' };
    const { workers } = form.knobs;
    const knobs = { ...form.knobs, workers: { ...workers, mode: 'fixed' as const, value: 4 } };
    expect(fitted({ ...form, knobs }, { ...fresh(), target: 'nginx' }).knobs.workers).toMatchObject({
      value: 4,
    });
    expect(fitted({ ...form, knobs }, fresh()).knobs.workers).toEqual(fresh().knobs.workers);
  });
});

it('what no preset decides is no change that a preset would discard', () => {
  expect(isChanged({ ...fresh(), ladder: '1000', target: 'core' }, preset, space)).toBe(false);
  expect(isChanged({ ...fresh(), budget: 3 }, preset, space)).toBe(true);
});

it('the settings of a run make the specification that it was started with', () => {
  const form = formOfRun(
    run({
      objective: 'mat: p999 <= 4ms',
      second_objective: 'rss',
      strategy: 'tpe',
      seed: 5,
      budget_trials: 30,
      settings: {
        ...preset.settings,
        rate_duration_s: 9,
        profile: true,
        constraints: ['p99 <= 5ms'],
        ladder: [1000, 2000],
        thresholds: { size_limit: 0.2 },
      },
      space: {
        ...space,
        knobs: space.knobs.map((knob) =>
          knob.name === 'max_connections' ? { ...knob, low: 64, high: 512, default: 300 } : knob,
        ),
        fixed: { backlog: 1024, workers: 4 },
      },
      workload_parameters: {
        definition: { conditions: { memory: 'unlimited', start: 'cold', link: 'loopback' } },
      },
    }),
    preset,
    space,
  );
  expect(runSpec(form, preset, space)).toEqual({
    preset: 'quick',
    target: 'core',
    defaults: { max_connections: 300 },
    workload: 'specweb99',
    objective: 'mat: p999 <= 4ms',
    second_objective: 'rss',
    memory: 'unlimited',
    start: 'cold',
    link: 'loopback',
    strategy: 'tpe',
    seed: 5,
    budget_trials: 30,
    knobs: { workers: { fixed: 4 }, max_connections: { low: 64, high: 512 } },
    settings: {
      rate_duration_s: 9,
      profile: true,
      constraints: ['p99 <= 5ms'],
      ladder: [1000, 2000],
      thresholds: { size_limit: 0.2 },
    },
  });
});

it('a run that only measured the capacity says nothing about a search', () => {
  const form = formOfRun(
    run({
      preset: 'capacity',
      budget_trials: 1,
      settings: { capacity_only: true, rate_duration_s: 9, directories: 40 },
    }),
    preset,
    space,
  );
  expect(form).toMatchObject({ preset: 'quick', budget: 16, settings: { directories: 40 } });
});
