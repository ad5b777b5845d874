import { expect, it, vi } from 'vitest';
import { readStored, writeStored } from './stored';

it('remembers a text until it is forgotten', () => {
  writeStored('name', 'text');
  expect(readStored('name')).toBe('text');
  writeStored('name', null);
  expect(readStored('name')).toBeNull();
});

it('goes on without a memory where the browser refuses one', () => {
  const refuse = () => {
    throw new DOMException('The operation is insecure.', 'SecurityError');
  };
  vi.spyOn(Storage.prototype, 'getItem').mockImplementation(refuse);
  vi.spyOn(Storage.prototype, 'setItem').mockImplementation(refuse);
  expect(() => writeStored('name', 'text')).not.toThrow();
  expect(readStored('name')).toBeNull();
});
