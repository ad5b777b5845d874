import { act, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { HttpResponse, http } from 'msw';
import { beforeEach, expect, it, vi } from 'vitest';
import type { RunDetail } from '../api/generated';
import { getRunQueryKey } from '../api/generated/@tanstack/react-query.gen';
import { progressKey } from '../api/keys';
import { progress, run } from '../test/records';
import { api, renderInApp, url } from '../test/render';
import { EndNoticeButton } from './EndNoticeButton';

const runKey = getRunQueryKey({ path: { run_id: 7 } });

/** A browser's notifications, which remember what was shown. */
class FakeNotification {
  static permission: NotificationPermission = 'default';
  static answer: NotificationPermission = 'granted';
  static asked = 0;
  static shown: { title: string; body?: string | undefined }[] = [];
  onclick: (() => void) | null = null;

  constructor(title: string, options?: NotificationOptions) {
    FakeNotification.shown.push({ title, body: options?.body });
  }

  static async requestPermission(): Promise<NotificationPermission> {
    FakeNotification.asked += 1;
    FakeNotification.permission = FakeNotification.answer;
    return FakeNotification.permission;
  }

  close() {}
}

let state: RunDetail['state'];
beforeEach(() => {
  Object.assign(FakeNotification, { permission: 'default', answer: 'granted', asked: 0, shown: [] });
  vi.stubGlobal('Notification', FakeNotification);
  vi.stubGlobal('isSecureContext', true);
  vi.spyOn(document, 'hasFocus').mockReturnValue(false);
  state = 'running';
  api.use(http.get(url('/runs/7'), () => HttpResponse.json(run({ state }))));
});

async function rendered() {
  const { client } = await renderInApp(<EndNoticeButton running />);
  await act(() => client.setQueryData(progressKey, progress()));
  return {
    /** What the live stream does when the run changes. */
    ends: async (as: RunDetail['state']) => {
      await waitFor(() => expect(client.getQueryData<RunDetail>(runKey)?.state).toBe('running'));
      state = as;
      await act(() => client.invalidateQueries({ queryKey: runKey }));
    },
  };
}

it('tells that the run has ended, once it was asked to', async () => {
  const { ends } = await rendered();
  expect(FakeNotification.asked).toBe(0);
  await userEvent.click(screen.getByRole('button', { name: 'Notify me when the run ends' }));
  await ends('finished');
  await waitFor(() =>
    expect(FakeNotification.shown.map(({ title }) => title)).toEqual(['Run 7 has finished']),
  );
});

it('does not take the end of a run for that of a trial of it which is measured again', async () => {
  state = 'finished';
  const { client } = await renderInApp(<EndNoticeButton running />);
  await act(() => client.setQueryData(progressKey, progress({ phase: 'done' })));
  await userEvent.click(screen.getByRole('button', { name: 'Notify me when the run ends' }));
  await act(() => client.prefetchQuery({ queryKey: runKey, queryFn: () => run({ state }) }));
  expect(FakeNotification.shown).toEqual([]);
});

it('says nothing to who looks at the page', async () => {
  const { ends } = await rendered();
  await userEvent.click(screen.getByRole('button', { name: 'Notify me when the run ends' }));
  vi.mocked(document.hasFocus).mockReturnValue(true);
  await ends('failed');
  expect(FakeNotification.shown).toEqual([]);
});

it('asks for nothing by itself, and shows nothing unasked', async () => {
  await rendered();
  state = 'finished';
  expect([FakeNotification.asked, FakeNotification.shown.length]).toEqual([0, 0]);
});

it('says when the browser refuses', async () => {
  FakeNotification.answer = 'denied';
  await rendered();
  await userEvent.click(screen.getByRole('button', { name: 'Notify me when the run ends' }));
  expect(await screen.findByRole('button', { name: /refuses/ })).toBeDisabled();
});

it('is not there where the browser has no notifications', async () => {
  vi.stubGlobal('isSecureContext', false);
  await rendered();
  expect(screen.queryByRole('button')).toBeNull();
});
