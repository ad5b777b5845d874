import { QueryClient, useQuery } from '@tanstack/react-query';
import { act, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { HttpResponse, http } from 'msw';
import { beforeEach, expect, it, vi } from 'vitest';
import type { RunDetail, RunNotes } from '../../api/generated';
import { getRunOptions, getRunQueryKey } from '../../api/generated/@tanstack/react-query.gen';
import { run } from '../../test/records';
import { api, renderInApp, url } from '../../test/render';
import { NotesPanel } from './NotesPanel';

const runKey = getRunQueryKey({ path: { run_id: 7 } });

function Page() {
  const { data } = useQuery(getRunOptions({ path: { run_id: 7 } }));
  return data && <NotesPanel run={data} />;
}

let stored: RunDetail;
const store = (words: RunNotes) => {
  stored = { ...stored, ...words, notes_version: `${words.name}, ${words.notes}` } as RunDetail;
};
beforeEach(() => {
  stored = run({ state: 'finished', notes: 'mine', tags: [], notes_version: 'mine' });
  api.use(
    http.get(url('/runs/7'), () => HttpResponse.json(stored)),
    http.patch(url('/runs/7'), async ({ request }) => {
      if (request.headers.get('If-Match') !== `"${stored.notes_version}"`)
        return HttpResponse.json(
          { error: { code: 'changed-meanwhile', message: 'They have been changed.', field: null } },
          { status: 412 },
        );
      const words = (await request.json()) as RunNotes;
      store({ ...words, name: words.name?.trim() ?? '' });
      return HttpResponse.json(stored);
    }),
  );
});

/** The panel with the notes as they are; then somebody else writes, and nothing tells of it. */
async function open(theirs?: string) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 60_000 } } });
  client.setQueryData(runKey, stored);
  const { router } = await renderInApp(<Page />, client);
  if (theirs !== undefined) store({ notes: theirs });
  return { client, router, field: await screen.findByRole('textbox', { name: 'Notes' }) };
}

const save = () => userEvent.click(screen.getByRole('button', { name: 'Save' }));

it('saves what was written', async () => {
  const { field } = await open();
  await userEvent.type(field, ', and more');
  await save();
  expect(await screen.findByText('Saved.')).toBeVisible();
  expect(stored.notes).toBe('mine, and more');
});

it('gives the run a name', async () => {
  await open();
  await userEvent.type(screen.getByRole('textbox', { name: 'Name' }), 'before the upgrade');
  await save();
  expect(await screen.findByText('Saved.')).toBeVisible();
  expect([stored.name, stored.notes]).toEqual(['before the upgrade', 'mine']);
});

it('a name with spaces round it is saved without them, and is nobody else’s', async () => {
  await open();
  const name = screen.getByRole('textbox', { name: 'Name' });
  await userEvent.type(name, ' before the upgrade ');
  await save();
  expect(await screen.findByText('Saved.')).toBeVisible();
  expect(screen.queryByRole('alert')).toBeNull();
  expect(name).toHaveValue('before the upgrade');
  expect(stored.name).toBe('before the upgrade');
});

it('what is written on while it is being saved stays, and can be saved too', async () => {
  let answer = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  api.use(
    http.patch(
      url('/runs/7'),
      async ({ request }) => {
        await held;
        store((await request.json()) as RunNotes);
        return HttpResponse.json(stored);
      },
      { once: true },
    ),
  );
  const { field } = await open();
  await userEvent.type(field, ', and more');
  await save();
  await userEvent.type(field, ' still');
  answer();
  await waitFor(() => expect(stored.notes).toBe('mine, and more'));
  await waitFor(() => expect(screen.getByRole('button', { name: 'Save' })).toBeEnabled());
  expect(screen.queryByRole('alert')).toBeNull();
  expect(field).toHaveValue('mine, and more still');
  await save();
  await waitFor(() => expect(stored.notes).toBe('mine, and more still'));
  expect(await screen.findByText('Saved.')).toBeVisible();
});

it('does not overwrite what somebody else has written meanwhile, unless told to', async () => {
  const { field } = await open('theirs');
  await userEvent.type(field, ', and more');
  await save();
  expect(await screen.findByRole('alert')).toHaveTextContent('theirs');
  expect(stored.notes).toBe('theirs');
  expect(screen.getByRole('button', { name: 'Save' })).toBeDisabled();
  await userEvent.click(screen.getByRole('button', { name: 'Keep mine' }));
  await save();
  expect(await screen.findByText('Saved.')).toBeVisible();
  expect(stored.notes).toBe('mine, and more');
});

it('takes the newer notes when asked to, and by itself where nothing has been written', async () => {
  const { field, client } = await open('theirs');
  await userEvent.type(field, '!');
  await save();
  await userEvent.click(await screen.findByRole('button', { name: 'Take the newer ones' }));
  expect(field).toHaveValue('theirs');
  store({ notes: 'newest' });
  await act(() => client.invalidateQueries());
  await screen.findByDisplayValue('newest');
  expect(screen.queryByRole('alert')).toBeNull();
});

it('a name that is too long is refused in words, and stays as it was written', async () => {
  await open();
  const name = screen.getByRole('textbox', { name: 'Name' });
  await userEvent.click(name);
  await userEvent.paste('n'.repeat(93));
  expect(screen.getByText('A name has at most 80 characters; this one has 93.')).toBeVisible();
  expect(name).toHaveValue('n'.repeat(93));
  expect(screen.getByRole('button', { name: 'Save' })).toBeDisabled();
});

it('asks before notes that are not saved are left', async () => {
  const ask = vi.spyOn(window, 'confirm').mockReturnValue(false);
  const { router, field } = await open();
  const go = (to: string) => act(() => router.navigate({ to }));
  await go('/runs');
  expect(ask).not.toHaveBeenCalled();
  await go('/');
  const again = await screen.findByRole('textbox', { name: 'Notes' });
  expect(again).not.toBe(field);
  await userEvent.type(again, ', and more');
  void router.navigate({ to: '/runs' });
  await waitFor(() => expect(ask).toHaveBeenCalledOnce());
  expect(router.state.location.pathname).toBe('/');
  ask.mockReturnValue(true);
  await go('/runs');
  expect(await screen.findByText('list of runs')).toBeVisible();
});
