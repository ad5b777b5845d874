import { screen } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import { ApiError } from '../api/errors';
import { run } from '../test/records';
import { api, renderInApp, url } from '../test/render';
import { StartFailure } from './StartFailure';

it('leads to the run that is going on', async () => {
  api.use(http.get(url('/runs'), () => HttpResponse.json({ runs: [run()], total: 1 })));
  await renderInApp(
    <StartFailure error={new ApiError(409, 'run-conflict', 'run 7 is running on this machine')} />,
  );
  expect(screen.getByText('run 7 is running on this machine')).toBeVisible();
  expect(await screen.findByRole('link', { name: 'Go to run 7' })).toHaveAttribute('href', '/runs/7');
});

it('says any other reason in the daemon’s words', async () => {
  await renderInApp(<StartFailure error={new ApiError(503, 'disk-full', 'The disk is full.')} />);
  expect(screen.getByRole('alert')).toHaveTextContent('The run was not started.The disk is full.');
  expect(screen.queryByRole('link')).toBeNull();
});
