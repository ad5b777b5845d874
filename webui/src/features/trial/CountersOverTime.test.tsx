import { screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import { counterSample, loadProgress, run, trialDetail } from '../../test/records';
import { api, renderInApp, url } from '../../test/render';
import { CountersOverTime } from './CountersOverTime';

/** Samples of 40 s: the first half at 1,000 requests/s, the second at 2,000. */
const samples = Array.from({ length: 40 }, (_, second) => ({
  values: {
    ...counterSample(1000 + second),
    load: { ...loadProgress(), trial: 3, rate_rps: second < 20 ? 1000 : 2000 },
  },
}));

it('shows a rate that is chosen, and all of the trial again', async () => {
  api.use(http.get(url('/runs/7/trials/3/counters'), () => HttpResponse.json(samples)));
  await renderInApp(<CountersOverTime run={run()} trial={trialDetail()} />);
  const choice = await screen.findByRole('combobox', { name: 'Look closer at' });
  expect(screen.queryByRole('button', { name: 'Show all of the trial' })).toBeNull();
  await userEvent.selectOptions(choice, screen.getByRole('option', { name: /^2.000/ }));
  await userEvent.click(screen.getByRole('button', { name: 'Show all of the trial' }));
  expect(screen.queryByRole('button', { name: 'Show all of the trial' })).toBeNull();
});
