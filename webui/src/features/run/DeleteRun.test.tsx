import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { HttpResponse, http } from 'msw';
import { beforeEach, expect, it } from 'vitest';
import { getRunQueryKey } from '../../api/generated/@tanstack/react-query.gen';
import { run } from '../../test/records';
import { api, renderInApp, url } from '../../test/render';
import { DeleteRun } from './DeleteRun';

let deleted = 0;

beforeEach(() => {
  deleted = 0;
  api.use(
    http.delete(url('/runs/7'), () => {
      deleted += 1;
      return new HttpResponse(null, { status: 204 });
    }),
  );
});

it('asks before it deletes, and deletes nothing when the run is to be kept', async () => {
  await renderInApp(<DeleteRun run={{ id: 7 }} />);
  await userEvent.click(screen.getByRole('button', { name: 'Delete' }));
  expect(screen.getByRole('alert')).toHaveTextContent('Delete run 7 with its trials');
  await userEvent.click(screen.getByRole('button', { name: 'Keep it' }));
  expect(screen.queryByRole('alert')).toBeNull();
  expect(deleted).toBe(0);
});

it('deletes the run once that is confirmed, and leads to the list of runs', async () => {
  await renderInApp(<DeleteRun run={{ id: 7 }} />);
  await userEvent.click(screen.getByRole('button', { name: 'Delete' }));
  await userEvent.click(screen.getByRole('button', { name: 'Delete for good' }));
  expect(await screen.findByText('list of runs')).toBeVisible();
  expect(deleted).toBe(1);
});

it('forgets what is known of the run when its page has gone', async () => {
  const { client } = await renderInApp(<DeleteRun run={{ id: 7 }} />);
  const known = [7, 8].map((id) => getRunQueryKey({ path: { run_id: id } }));
  for (const key of known) client.setQueryData(key, run());
  await userEvent.click(screen.getByRole('button', { name: 'Delete' }));
  await userEvent.click(screen.getByRole('button', { name: 'Delete for good' }));
  expect(await screen.findByText('list of runs')).toBeVisible();
  await waitFor(() =>
    expect(known.map((key) => client.getQueryData(key) !== undefined)).toEqual([false, true]),
  );
});

it('says why a run was not deleted', async () => {
  const conflict = { error: { code: 'run-conflict', message: 'run 7 is going on', field: null } };
  api.use(http.delete(url('/runs/7'), () => HttpResponse.json(conflict, { status: 409 })));
  await renderInApp(<DeleteRun run={{ id: 7 }} />);
  await userEvent.click(screen.getByRole('button', { name: 'Delete' }));
  await userEvent.click(screen.getByRole('button', { name: 'Delete for good' }));
  await waitFor(() => expect(screen.getByRole('alert')).toHaveTextContent('run 7 is going on'));
});
