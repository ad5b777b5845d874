import { expect, it } from 'vitest';
import { defaultConfiguration, space, trial } from '../../test/records';
import { slices } from './slices';

const at = (number: number, change: Record<string, number | string>, score: number | null) =>
  trial(number, {
    configuration: { ...defaultConfiguration, ...change },
    score,
    estimated_score: score === null ? 50 : null,
  });
const trials = [
  at(2, {}, 500),
  at(3, { workers: 10 }, 700),
  at(4, { workers: 100, sendfile: 'blocking' }, null),
  trial(5, { purpose: 'confirmation', configuration: { ...defaultConfiguration, workers: 7 } }),
];
const importance = {
  knobs: [
    { knob: 'sendfile', share: 0.7, curve: [{ value: 'blocking', score: 600, spread: 1 }] },
    { knob: 'workers', share: 0.2, curve: [{ value: 10, score: 650, spread: 1 }] },
  ],
  interactions: [],
  trials: 3,
  r_squared: 0.9,
};

it('each knob that the search has varied gets a slice, the most important first', () => {
  expect(slices(space, trials, null).map(({ knob }) => knob)).toEqual(['sendfile', 'workers']);
  const found = slices(space, trials, { ...importance, knobs: importance.knobs.toReversed() });
  expect(found.map(({ knob, share }) => `${knob} ${share}`)).toEqual([
    'sendfile explains 70\u00a0% of the differences',
    'workers explains 20\u00a0% of the differences',
  ]);
});

it('numbers of a logarithmic knob lie at their logarithms, choices at their places', () => {
  const [sendfile, workers] = slices(space, trials, importance);
  expect(workers?.curves[0]?.points).toEqual([
    { x: 0, y: 500, crossed: false },
    { x: 1, y: 700, crossed: false },
    { x: 2, y: 50, crossed: true },
  ]);
  expect(workers?.ticks.map(workers.formatX)).toEqual(['1', '10', '100']);
  expect(workers?.curves[1]?.points).toEqual([{ x: 1, y: 650 }]);
  expect(sendfile?.ticks.map(sendfile.formatX)).toEqual(['nonblocking', 'blocking']);
});
