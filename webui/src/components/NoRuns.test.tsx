import { screen } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import { run } from '../test/records';
import { api, renderInApp, url } from '../test/render';
import { NoRuns } from './NoRuns';

const withArchived = (total: number) =>
  api.use(
    http.get(url('/runs'), ({ request }) =>
      HttpResponse.json(
        new URL(request.url).searchParams.get('archived') === 'true'
          ? { runs: [run({ archived: true })].slice(0, total), total }
          : { runs: [], total: 0 },
      ),
    ),
  );

it('says that there has been no run where there has been none', async () => {
  withArchived(0);
  await renderInApp(<NoRuns>A good first one.</NoRuns>);
  expect(await screen.findByText('There has been no run yet.')).toBeVisible();
  expect(screen.getByText('A good first one.')).toBeVisible();
});

it('does not say so of runs that are all in the archive, and leads there', async () => {
  withArchived(2);
  await renderInApp(<NoRuns />);
  expect(await screen.findByText('All 2 runs are in the archive.')).toBeVisible();
  expect(screen.queryByText('There has been no run yet.')).toBeNull();
  expect(screen.getByRole('link', { name: 'Show the archive' })).toHaveAttribute(
    'href',
    '/runs?archived=true',
  );
});
