import { screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, expect, it, vi } from 'vitest';
import { renderInApp } from '../test/render';
import { CopyText } from './CopyText';

afterEach(() => {
  Reflect.deleteProperty(document, 'execCommand');
});

/** A page over plain http of another host: it has no interface to the clipboard. */
async function click(execCommand: () => boolean) {
  const user = userEvent.setup();
  vi.spyOn(navigator, 'clipboard', 'get').mockReturnValue(undefined as unknown as Clipboard);
  Object.assign(document, { execCommand });
  await renderInApp(<CopyText text="trimtab tune" label="Copy command" />);
  await user.click(screen.getByRole('button', { name: 'Copy command' }));
}

it('copies where the browser keeps the clipboard from the page', async () => {
  let copied: string | undefined;
  await click(() => {
    copied = (document.activeElement as HTMLTextAreaElement).value;
    return true;
  });
  expect(await screen.findByRole('button', { name: 'Copied' })).toBeVisible();
  expect(copied).toBe('trimtab tune');
  expect(document.querySelector('textarea')).toBeNull();
});

it('says that it could not copy, and how to', async () => {
  await click(() => false);
  expect(await screen.findByRole('button', { name: /^Not copied: select the text/ })).toBeVisible();
});
