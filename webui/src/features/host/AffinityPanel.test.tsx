import { act, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import type { MeasuredPlans, Topology } from '../../api/generated';
import { api, renderInApp, url } from '../../test/render';
import { AffinityPanel } from './AffinityPanel';

const TOPOLOGY: Topology = { cpus: [], caches: [], devices: [], interrupts: [] };

let app: Awaited<ReturnType<typeof renderInApp>>;

async function shown(measured: MeasuredPlans) {
  api.use(
    http.get(url('/affinity/measured'), () => HttpResponse.json(measured)),
    http.get(url('/affinity'), () => HttpResponse.json({ settings: [], drift: [], balancers: [] })),
    http.post(url('/affinity/plan'), () =>
      HttpResponse.json({ plan: {}, settings: [], sentence: 'A plan.' }),
    ),
  );
  app = await renderInApp(<AffinityPanel topology={TOPOLOGY} />);
  return screen.findByText(measured.reason);
}

it('begins with the plan that measured best here', async () => {
  await shown({ best: 'process', reason: 'process measured best here.', plans: [] });
  expect(screen.getByRole('radio', { name: 'process' })).toBeChecked();
});

it('begins with none where nothing was measured, and says so', async () => {
  await shown({ best: 'none', reason: 'No recorded run has measured a plan.', plans: [] });
  expect(screen.getByRole('radio', { name: 'none' })).toBeChecked();
});

it('what its user has chosen stays when another plan has measured better meanwhile', async () => {
  await shown({ best: 'none', reason: 'Nothing yet.', plans: [] });
  const { client } = app;
  await userEvent.click(screen.getByRole('radio', { name: 'process' }));
  api.use(
    http.get(url('/affinity/measured'), () =>
      HttpResponse.json({ best: 'interrupt', reason: 'interrupt measured best.', plans: [] }),
    ),
  );
  await act(() => client.invalidateQueries());
  await screen.findByText('interrupt measured best.');
  expect(screen.getByRole('radio', { name: 'process' })).toBeChecked();
});
