import { describe, expect, it } from 'vitest';
import { outcome, space, defaultConfiguration as standard, trial } from '../../test/records';
import {
  chooseAxes,
  defaultConfiguration,
  freeKnobs,
  gainOver,
  keyTrials,
  levelName,
  searchLevel,
  verdictCounts,
} from './facts';

it('the default configuration takes fixed values where knobs are fixed', () => {
  expect(defaultConfiguration({ ...space, fixed: { backlog: 64 } })).toEqual({ ...standard, backlog: 64 });
});

it('free are the knobs that are not fixed', () => {
  expect(freeKnobs(space)).toEqual(['sendfile', 'workers', 'max_connections']);
});

describe('keyTrials', () => {
  const four = { ...standard, workers: 4 };
  const trials = [
    trial(1),
    trial(2, { configuration: four, score: 800 }),
    trial(3, { configuration: { ...standard, workers: 8 }, score: null, verdict: 'crashed' }),
    trial(4, { configuration: { ...standard, workers: 2 }, score: 900, purpose: 'confirmation' }),
  ];

  it('finds the default and the best verified trial of the search', () => {
    const { standard: first, best } = keyTrials(trials, space, null);
    expect(first?.number).toBe(1);
    expect(best?.number).toBe(2);
  });

  it('follows the outcome once there is one', () => {
    expect(keyTrials(trials, space, outcome({ best: { ...standard, workers: 4 } })).best?.number).toBe(2);
    expect(keyTrials(trials, space, outcome({ best: standard })).best).toBeUndefined();
    expect(keyTrials(trials, space, outcome({ best: null })).best).toBeUndefined();
  });

  it('is empty without trials', () => {
    expect(keyTrials([], space, null)).toEqual({ standard: undefined, best: undefined });
  });
});

it('a gain over nothing cannot be said', () => {
  expect(gainOver(600, 500)).toBeCloseTo(0.2);
  expect(gainOver(600, 0)).toBeNull();
  expect(gainOver(null, 500)).toBeNull();
});

it('verdicts are counted, the most frequent first', () => {
  expect(verdictCounts([trial(1, { verdict: 'crashed' }), trial(2), trial(3)])).toEqual([
    ['verified', 2],
    ['crashed', 1],
  ]);
});

describe('chooseAxes', () => {
  it('puts connections across and workers up unless told otherwise', () => {
    expect(chooseAxes(space, undefined, undefined)).toEqual({ x: 'max_connections', y: 'workers' });
    expect(chooseAxes(space, 'workers', undefined)).toEqual({ x: 'workers', y: 'sendfile' });
    expect(chooseAxes(space, 'sendfile', 'max_connections')).toEqual({ x: 'sendfile', y: 'max_connections' });
  });

  it('knows the knobs of any server by what they do', () => {
    const names: Record<string, string> = {
      workers: 'worker_processes',
      max_connections: 'worker_connections',
    };
    const knobs = space.knobs.map((knob) => ({ ...knob, name: names[knob.name] ?? knob.name }));
    expect(chooseAxes({ ...space, knobs }, undefined, undefined)).toEqual({
      x: 'worker_connections',
      y: 'worker_processes',
    });
  });

  it('ignores knobs that are not free, and gives up below two', () => {
    expect(chooseAxes(space, 'backlog', undefined)).toEqual({ x: 'max_connections', y: 'workers' });
    const fixed = { ...space.fixed, sendfile: 'nonblocking', max_connections: 64 };
    expect(chooseAxes({ ...space, fixed }, undefined, undefined)).toBeNull();
  });
});

it('the default is shown with the first level, and levels are named for what their strategy does', () => {
  expect([0, 1, 2].map((level) => searchLevel({ level }))).toEqual([1, 1, 2]);
  expect(levelName('coarse-to-fine', 1)).toBe('1, coarse');
  expect(levelName('coarse-to-fine', 3)).toBe('3, finer');
  expect(levelName('surrogate-race', 2)).toBe('2, repeats');
});
