import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { renderInApp } from '../test/render';
import { ConnectionMark, DisconnectedBanner } from './Connection';

it('says in a word whether the page hears from the daemon', async () => {
  await renderInApp(<ConnectionMark state={{ status: 'open' }} />);
  expect(screen.getByRole('status')).toHaveTextContent('Connected');
});

it('warns with the time since which the page may be out of date', async () => {
  const since = new Date(2026, 10, 21, 14, 3, 22).getTime();
  await renderInApp(<DisconnectedBanner state={{ status: 'lost', since }} />);
  expect(screen.getByRole('alert')).toHaveTextContent(/lost at 21 Nov 2026, 14:03:22 \S+\. What/);
});

it('shows no banner while the stream is open', async () => {
  await renderInApp(<DisconnectedBanner state={{ status: 'open' }} />);
  expect(screen.queryByRole('alert')).toBeNull();
});
