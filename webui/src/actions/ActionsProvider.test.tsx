import { screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { renderInApp } from '../test/render';
import { ActionsProvider } from './ActionsProvider';

it('shows the page also where the browser keeps nothing for this site', async () => {
  vi.spyOn(Storage.prototype, 'getItem').mockImplementation(() => {
    throw new DOMException('The operation is insecure.', 'SecurityError');
  });
  await renderInApp(
    <ActionsProvider>
      <p>page</p>
    </ActionsProvider>,
  );
  expect(screen.getByText('page')).toBeVisible();
});
