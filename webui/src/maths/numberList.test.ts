import { expect, it } from 'vitest';
import { numberListText, numbersIn, textOf } from './numberList';

it('a list is read from what was written of it, and one number stays a number', () => {
  for (const numbers of [[], [3], [3, 7]]) expect(numbersIn(textOf(numbers))).toEqual(numbers);
  expect(textOf([3])).toBe(3);
  expect(textOf([3, 7])).toBe('3,7');
  expect(textOf([])).toBeUndefined();
});

it('what is no list of numbers is left out of the address', () => {
  expect(numberListText('3,7')).toBe('3,7');
  expect(numberListText(3)).toBe(3);
  for (const wrong of [undefined, '', '0', '3,', 'a', -1, 1.5]) expect(numberListText(wrong)).toBeUndefined();
});
