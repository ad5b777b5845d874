import { expect, it } from 'vitest';
import { levelName, searchLevel } from './searchLevel';

it('the default is shown with the first level, and levels are named for what their strategy does', () => {
  expect([0, 1, 2].map((level) => searchLevel({ level }))).toEqual([1, 1, 2]);
  expect(levelName('coarse-to-fine', 1)).toBe('1, coarse');
  expect(levelName('coarse-to-fine', 3)).toBe('3, finer');
  expect(levelName('surrogate-race', 2)).toBe('2, repeats');
});
