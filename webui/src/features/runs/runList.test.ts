import { expect, it } from 'vitest';
import { run } from '../../test/records';
import { listed, runListSearch } from './runList';

const runs = [
  run({ id: 1, target: 'nginx', tags: ['before'], capacity_rps: 9000, name: 'Old kernel' }),
  run({ id: 2, target: 'core', state: 'finished', capacity_rps: 20_000 }),
  run({ id: 3, target: 'nginx', tags: ['after'], state: 'finished', capacity_rps: null }),
];
const ids = (search: Parameters<typeof listed>[1]) => listed(runs, search).map(({ id }) => id);

it('the newest run comes first', () => {
  expect(ids({})).toEqual([3, 2, 1]);
});

it('finds runs by all the words looked for, wherever they stand', () => {
  expect(ids({ text: 'nginx' })).toEqual([3, 1]);
  expect(ids({ text: 'NGINX kernel' })).toEqual([1]);
  expect(ids({ text: 'after' })).toEqual([3]);
  expect(ids({ text: 'mariadb' })).toEqual([]);
});

it('keeps the runs of a tag, a state and a server', () => {
  expect(ids({ tag: 'before' })).toEqual([1]);
  expect(ids({ state: 'finished' })).toEqual([3, 2]);
  expect(ids({ state: 'finished', target: 'nginx' })).toEqual([3]);
});

it('sorts by a column either way, and puts what has no value last', () => {
  expect(ids({ sort: '-capacity' })).toEqual([2, 1, 3]);
  expect(ids({ sort: 'capacity' })).toEqual([1, 2, 3]);
  expect(ids({ sort: 'run' })).toEqual([1, 2, 3]);
});

it('an address that is not understood leaves the list as it is', () => {
  expect(runListSearch({ sort: 'colour', text: '', archived: 'yes' })).toEqual({});
  expect(runListSearch({ sort: '__proto__' })).toEqual({});
  expect(runListSearch({ sort: '-gain', text: 7 })).toEqual({ sort: '-gain', text: '7' });
});
