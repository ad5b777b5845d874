import { expect, it } from 'vitest';
import { elided } from './elided';

const widthOf = (text: string) => 10 * text.length;

it('leaves a text that has room as it is', () => {
  expect(elided('sendfile', 80, widthOf)).toBe('sendfile');
});

it('cuts what has no room, and says that it did', () => {
  expect(elided('worker_connections', 70, widthOf)).toBe('worker…');
  expect(elided('worker_connections', 5, widthOf)).toBe('…');
});
