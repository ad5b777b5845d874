import { screen, waitFor } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import { api, renderInApp, url } from '../test/render';
import { useFrameActions } from './frameActions';

const Titles = () =>
  useFrameActions(() => {})
    .map(({ title }) => title)
    .join(', ');

it.each([true, false])('leads to the documentation where the daemon serves it: %s', async (documentation) => {
  api.use(
    http.get(url('/health'), () =>
      HttpResponse.json({
        status: 'ok',
        version: '0.1.0',
        token_required: false,
        documentation,
        demo: false,
      }),
    ),
  );
  const { client } = await renderInApp(<Titles />);
  await waitFor(() => expect(client.isFetching()).toBe(0));
  const titles = screen.getByTestId('app');
  if (documentation) await waitFor(() => expect(titles.textContent).toContain('Read the documentation'));
  else expect(titles).not.toHaveTextContent('documentation');
});
