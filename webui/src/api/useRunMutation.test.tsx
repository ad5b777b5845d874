import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import { run } from '../test/records';
import { api, url } from '../test/render';
import { getRunOptions, pauseRunMutation } from './generated/@tanstack/react-query.gen';
import { useRunMutation } from './useRunMutation';

function State() {
  const { data } = useQuery(getRunOptions({ path: { run_id: 7 } }));
  const pause = useRunMutation(pauseRunMutation());
  return (
    <button type="button" onClick={() => pause.mutate({ path: { run_id: 7 } })}>
      {data?.state}
    </button>
  );
}

it('shows the end of a run that came before the answer to a request about it', async () => {
  let state: 'running' | 'finished' = 'running';
  api.use(
    http.get(url('/runs/7'), () => HttpResponse.json(run({ state }))),
    http.post(url('/runs/7/pause'), () => {
      state = 'finished';
      return HttpResponse.json(run({ state: 'running' }), { status: 202 });
    }),
  );
  render(
    <QueryClientProvider client={new QueryClient()}>
      <State />
    </QueryClientProvider>,
  );
  await userEvent.click(await screen.findByRole('button', { name: 'running' }));
  expect(await screen.findByRole('button', { name: 'finished' })).toBeVisible();
});
