import { act, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import { run, trialDetail } from '../../test/records';
import { api, renderInApp, url } from '../../test/render';
import { TrialPage } from './TrialPage';

it('a message about one trial does not show on the next', async () => {
  api.use(
    http.get(url('/runs/7'), () => HttpResponse.json(run({ state: 'finished', trials: 5 }))),
    http.get(url('/runs/7/trials/:number'), ({ params }) =>
      HttpResponse.json({ ...trialDetail(), number: Number(params.number) }),
    ),
    http.get(url('/runs/7/trials/:number/counters'), () => HttpResponse.json([])),
    http.post(url('/runs/7/trials/:number/repeat'), () =>
      HttpResponse.json(
        { error: { code: 'run-conflict', message: 'run 8 is running', field: null } },
        { status: 409 },
      ),
    ),
  );
  const { router } = await renderInApp(null, undefined, TrialPage);
  const go = (number: string) => act(() => router.history.push(`/runs/7/trials/${number}`));
  await go('2');
  await userEvent.click(await screen.findByRole('button', { name: 'Measure again' }));
  expect(await screen.findByText('run 8 is running')).toBeVisible();
  await go('3');
  await waitFor(() => expect(screen.getByRole('heading', { name: 'Trial 3 of run 7' })).toBeVisible());
  expect(screen.queryByText('run 8 is running')).toBeNull();
});
