// Numbers as they stand in an address: `3`, or `3,7` for several.
//
// The router writes what is not a string as JSON, and puts a string of digits between quotation marks to tell the
// two apart; so a single number goes to it as a number.

const LIST = /^[1-9]\d*(,[1-9]\d*)*$/;

/** What the address has for a list; undefined for an empty one. */
export type NumberListText = number | string | undefined;

/** What is in an address, if it is a list of numbers from 1. */
export const numberListText = (value: unknown): NumberListText =>
  LIST.test(String(value)) ? (value as number | string) : undefined;

export const numbersIn = (text: NumberListText): number[] =>
  text === undefined ? [] : String(text).split(',').map(Number);

export const textOf = (numbers: readonly number[]): NumberListText =>
  numbers.length === 0 ? undefined : numbers.length === 1 ? numbers[0] : numbers.join(',');

/** A whole number of an address that is at least `least`; undefined for anything else. */
export const wholeFrom = (least: number, value: unknown): number | undefined =>
  Number.isInteger(Number(value)) && Number(value) >= least ? Number(value) : undefined;
