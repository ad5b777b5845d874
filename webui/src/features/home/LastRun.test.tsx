import { screen } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import { outcome, run } from '../../test/records';
import { api, renderInApp, url } from '../../test/render';
import { LastRun } from './LastRun';

it('says what came out, and leads to the run and to its files', async () => {
  const finished = run({ state: 'finished', name: 'before the move', outcome: outcome() });
  api.use(http.get(url('/runs/7'), () => HttpResponse.json(finished)));
  await renderInApp(<LastRun run={finished} />);
  expect(screen.getByRole('heading')).toHaveTextContent('Run 7, before the move: core under specweb99');
  expect(await screen.findByText('workers=4 gains 23 % over the default.')).toBeInTheDocument();
  expect(screen.getByRole('link', { name: 'Its configuration files' })).toHaveAttribute(
    'href',
    '/runs/7/export',
  );
});

it('offers no files of a run that has not finished, and says why it failed', async () => {
  const failed = run({ state: 'failed', error: 'The server did not start.' });
  api.use(http.get(url('/runs/7'), () => HttpResponse.json(failed)));
  await renderInApp(<LastRun run={failed} />);
  expect(await screen.findByText('The server did not start.')).toBeInTheDocument();
  expect(screen.queryByText('Capacity')).toBeNull();
  expect(screen.queryByRole('link', { name: 'Its configuration files' })).toBeNull();
});

it('begins with the capacity and the gain in it', async () => {
  const { capacity_gain } = outcome();
  const measured = run({ state: 'finished', outcome: outcome(), capacity_rps: 52516, capacity_gain });
  api.use(http.get(url('/runs/7'), () => HttpResponse.json(measured)));
  await renderInApp(<LastRun run={measured} />);
  expect(screen.getByText('52,516 requests/s')).toBeInTheDocument();
  expect(screen.getByText('+23 %')).toBeInTheDocument();
});
