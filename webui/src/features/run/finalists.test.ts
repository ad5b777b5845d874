import { expect, it } from 'vitest';
import { defaultConfiguration, outcome, performance } from '../../test/records';
import { finalists } from './finalists';

const { ranking } = outcome();
const [best, standard] = ranking as [(typeof ranking)[0], (typeof ranking)[0]];
const other = (workers: number, change: Partial<typeof best> = {}) => ({
  ...best,
  configuration: { ...defaultConfiguration, workers },
  configuration_hash: `h${workers}`,
  ...change,
});

it('puts what is recommended first, then the default, the advice, and the rest', () => {
  const all = [other(8), other(16), other(2, { is_expert: true }), best, standard];
  const found = finalists(outcome({ ranking: all }));
  expect(found.map(({ name, differs }) => `${name}: ${differs}`)).toEqual([
    'recommended: workers=4',
    'default: ',
    'expert advice: workers=2',
    'finalist 1: workers=8',
    'finalist 2: workers=16',
  ]);
});

it('leaves out those of whom no block is whole, and says when the default is kept', () => {
  const kept = outcome({
    best: defaultConfiguration,
    ranking: [{ ...standard, performance: performance(5200) }, other(8, { performance: null })],
  });
  expect(finalists(kept).map(({ name }) => name)).toEqual(['default, kept']);
});
