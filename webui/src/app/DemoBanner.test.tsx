import { screen, waitFor } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import { api, renderInApp, url } from '../test/render';
import { DemoBanner } from './DemoBanner';

const health = (demo: boolean) =>
  http.get(url('/health'), () =>
    HttpResponse.json({ status: 'ok', version: '0.1.0', token_required: false, documentation: false, demo }),
  );

it('says on a demo that its measurements are simulated', async () => {
  api.use(health(true));
  await renderInApp(<DemoBanner />);
  expect(await screen.findByRole('complementary')).toHaveTextContent('Demo: simulated measurements.');
});

it('says nothing where they are real', async () => {
  api.use(health(false));
  const { client } = await renderInApp(<DemoBanner />);
  await waitFor(() => expect(client.isFetching()).toBe(0));
  expect(screen.queryByRole('complementary')).toBeNull();
});
