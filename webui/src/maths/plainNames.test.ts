import { expect, it } from 'vitest';
import { bothNames, plainInText, plainName } from './plainNames';

it('a choice has its plain name first and the exact one beside it', () => {
  expect(bothNames('condensed-area')).toBe('Mean goodput over the ladder (condensed-area)');
  expect(bothNames('mat: p999 <= 4ms')).toBe('Highest goodput within a latency limit (mat: p999 <= 4ms)');
});

it('what has no plain name is called by its own', () => {
  expect(plainName('nginx')).toBe('nginx');
  expect(bothNames('nginx')).toBe('nginx');
});

it('within a sentence a plain name begins small, and a name without one stays as it is', () => {
  expect(plainInText('mat: p999 <= 4ms')).toBe('highest goodput within a latency limit');
  expect(plainInText('Own')).toBe('Own');
});
