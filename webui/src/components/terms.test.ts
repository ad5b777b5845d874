import { expect, it } from 'vitest';
import { anchorOf, piecesOf, TERMS } from './terms';

it('has its entries in the order of the alphabet, each at an address of its own', () => {
  const words = TERMS.map(({ word }) => word);
  expect(words).toEqual(words.toSorted((a, b) => a.localeCompare(b, 'en')));
  const anchors = words.map(anchorOf);
  expect(new Set(anchors).size).toBe(anchors.length);
  expect(anchorOf('p50, p99, p99.9')).toBe('p50-p99-p99-9');
});

it('finds no form in two entries', () => {
  const forms = TERMS.flatMap((entry) => entry.forms.map((form) => form.toLowerCase()));
  expect(new Set(forms).size).toBe(forms.length);
});

it('marks a word where it first stands in a text, in any case and number', () => {
  expect(piecesOf('Trials over knobs, and the score of each trial.')).toEqual([
    { text: 'Trials', word: 'Trial' },
    { text: ' over ' },
    { text: 'knobs', word: 'Knob' },
    { text: ', and the ' },
    { text: 'score', word: 'Score' },
    { text: ' of each trial.' },
  ]);
});

it.each([
  ['Latency p99.9 at 20 requests/s', ['Latency', 'p99.9']],
  ['p99', ['p99']],
  ['Goodput at capacity.', ['Goodput', 'capacity']],
  ['What a server follows it keeps up with.', ['follows']],
  ['Blocks read in and written out.', []],
  ['my-p99ish and thelatency', []],
  ['', []],
])('finds in %j the words %j', (text, words) => {
  const pieces = piecesOf(text);
  expect(pieces.flatMap((piece) => (piece.word ? [piece.text] : []))).toEqual(words);
  expect(pieces.map((piece) => piece.text).join('')).toBe(text);
});
