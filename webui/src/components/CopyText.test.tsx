import { act, fireEvent, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, expect, it, vi } from 'vitest';
import { renderInApp } from '../test/render';
import { CopyText } from './CopyText';

afterEach(() => {
  Reflect.deleteProperty(document, 'execCommand');
});

/** A page over plain http of another host: it has no interface to the clipboard. */
async function click(execCommand: () => boolean) {
  userEvent.setup(); // gives jsdom a clipboard
  vi.spyOn(navigator, 'clipboard', 'get').mockReturnValue(undefined as unknown as Clipboard);
  Object.assign(document, { execCommand });
  await renderInApp(<CopyText text="trimtab tune" label="Copy command" />);
  // What it says is to be read for a few seconds: by a clock that stands still.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  await act(async () => {
    fireEvent.click(screen.getByRole('button', { name: 'Copy command' }));
    await vi.advanceTimersByTimeAsync(0);
  });
}

it('copies where the browser keeps the clipboard from the page', async () => {
  let copied: string | undefined;
  await click(() => {
    copied = (document.activeElement as HTMLTextAreaElement).value;
    return true;
  });
  expect(screen.getByRole('button', { name: 'Copied' })).toBeVisible();
  expect(copied).toBe('trimtab tune');
  expect(document.querySelector('textarea')).toBeNull();
  act(() => void vi.advanceTimersByTime(10_000));
  expect(screen.getByRole('button', { name: 'Copy command' })).toBeVisible();
});

it('says that it could not copy, and how to', async () => {
  await click(() => false);
  expect(screen.getByRole('button', { name: /^Not copied: select the text/ })).toBeVisible();
});
