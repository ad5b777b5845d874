import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { HttpResponse, http } from 'msw';
import { expect, it, vi } from 'vitest';
import { api, renderInApp, url } from '../test/render';
import { TokenForm } from './TokenForm';

it('refuses a wrong token in words and goes on with the right one', async () => {
  api.use(
    http.post(url('/session'), async ({ request }) => {
      const { token } = (await request.json()) as { token: string };
      return token === 'right'
        ? new HttpResponse(null, { status: 204 })
        : HttpResponse.json(
            { error: { code: 'wrong-token', message: "That is not this daemon's token.", field: null } },
            { status: 401 },
          );
    }),
  );
  const onAccepted = vi.fn();
  await renderInApp(<TokenForm onAccepted={onAccepted} />);
  const field = screen.getByLabelText('Token');
  await userEvent.type(field, 'wrong{Enter}');
  expect(await screen.findByText("That is not this daemon's token.")).toBeVisible();
  expect(onAccepted).not.toHaveBeenCalled();
  await userEvent.clear(field);
  await userEvent.type(field, 'right{Enter}');
  await waitFor(() => expect(onAccepted).toHaveBeenCalledOnce());
});
