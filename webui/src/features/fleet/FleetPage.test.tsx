import { screen } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import { api, renderInApp, url } from '../../test/render';
import { FleetPage } from './FleetPage';

it('a machine of no fleet says in one sentence why no scheduler was asked, and raises no alarm', async () => {
  const fleet = {
    scheduler: 'tls://hub:8786',
    complaint: 'this machine is no member of a fleet',
    stations: [],
  };
  api.use(http.get(url('/fleet'), () => HttpResponse.json(fleet)));
  await renderInApp(<FleetPage />);
  const told = await screen.findByText(
    'The scheduler at tls://hub:8786 was not asked: this machine is no member of a fleet',
  );
  expect(told.closest('[data-tone]')).toHaveAttribute('data-tone', 'neutral');
});
