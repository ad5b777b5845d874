import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import { station } from '../../test/records';
import { api, renderInApp, url } from '../../test/render';
import { StationsPanel } from './StationsPanel';

it('shows what each station does, and links to the run', async () => {
  await renderInApp(
    <StationsPanel stations={[station({ run_id: 7, trial: 12 }), station({ name: 'web2' })]} />,
  );
  expect(screen.getByRole('link', { name: 'trial 12 of run 7' })).toHaveAttribute('href', '/runs/7');
  expect(screen.getByRole('cell', { name: 'nothing' })).toBeInTheDocument();
});

it('says how a host joins while none has', async () => {
  await renderInApp(<StationsPanel stations={[]} />);
  expect(screen.getByText('No station has joined yet.')).toBeInTheDocument();
});

it('asks a station to leave, and offers to forget one that has', async () => {
  const asked: string[] = [];
  api.use(
    http.post(url('/fleet/web1/drain'), () => {
      asked.push('drain web1');
      return new HttpResponse(null, { status: 202 });
    }),
    http.delete(url('/fleet/web2'), () =>
      HttpResponse.json(
        { error: { code: 'fleet', message: 'web2 is in the fleet', field: null } },
        { status: 503 },
      ),
    ),
  );
  await renderInApp(<StationsPanel stations={[station(), station({ name: 'web2', state: 'left' })]} />);
  await userEvent.click(screen.getByRole('button', { name: 'Drain web1' }));
  await waitFor(() => expect(asked).toEqual(['drain web1']));
  await userEvent.click(screen.getByRole('button', { name: 'Forget web2' }));
  expect(await screen.findByText('web2 is in the fleet')).toBeInTheDocument();
});
