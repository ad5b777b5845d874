import { expect, it } from 'vitest';
import { diffLines } from './diffLines';

it('tells added from removed lines and leaves the names of the files out', () => {
  const diff = '--- default\n+++ exported\n@@ -1,2 +1,2 @@\n [server]\n-workers = 1\n+workers = 4\n';
  expect(diffLines(diff).map(({ kind, text }) => [kind, text])).toEqual([
    ['place', '@@ -1,2 +1,2 @@'],
    ['same', ' [server]'],
    ['removed', '-workers = 1'],
    ['added', '+workers = 4'],
  ]);
  expect(diffLines('')).toEqual([]);
});
