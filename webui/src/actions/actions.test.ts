import { describe, expect, it, vi } from 'vitest';
import { type Action, findActions, KeySequence, SEQUENCE_MS } from './actions';

const action = (title: string, keys?: string): Action => ({ title, run: vi.fn(), ...(keys ? { keys } : {}) });
const live = action('Go to Live', 'g l');
const stop = action('Stop run 7', 's');
const all = [live, stop, action('Theme: dark')];

describe('KeySequence', () => {
  it('completes a sequence of keys, and starts over after it', () => {
    const keys = new KeySequence();
    expect(keys.press('g', 0, all)).toBeNull();
    expect(keys.press('l', 100, all)).toBe(live);
    expect(keys.press('l', 200, all)).toBeNull();
  });

  it('forgets what was pressed long ago', () => {
    const keys = new KeySequence();
    keys.press('g', 0, all);
    expect(keys.press('l', SEQUENCE_MS + 1, all)).toBeNull();
  });

  it('takes a key that leads nowhere as a new beginning', () => {
    const keys = new KeySequence();
    keys.press('g', 0, all);
    expect(keys.press('s', 10, all)).toBe(stop);
  });
});

it('finds actions by all their words in any order', () => {
  expect(findActions(all, 'live go').map(({ title }) => title)).toEqual(['Go to Live']);
  expect(findActions(all, '')).toHaveLength(3);
  expect(findActions(all, 'nothing')).toEqual([]);
});
