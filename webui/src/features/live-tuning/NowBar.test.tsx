import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import type { LiveSessionDetail } from '../../api/generated';
import { api, renderInApp, url } from '../../test/render';
import { NowBar } from './NowBar';

const session = (change: Partial<LiveSessionDetail> = {}): LiveSessionDetail => ({
  id: 3,
  target: 'nginx',
  pid: 812,
  addresses: ['127.0.0.1:80'],
  unit: 'nginx.service',
  file: '/etc/nginx/nginx.conf',
  mode: 'canary',
  settings: {},
  state: 'observing',
  sentence: 'observing the traffic for a minute',
  share: 0,
  context: null,
  asked: null,
  started_at: '2026-11-23T12:00:00Z',
  seen_at: '2026-11-23T12:00:00Z',
  ended_at: null,
  dead: false,
  decisions: [],
  incumbents: null,
  ...change,
});

const buttons = () => screen.queryAllByRole('button').map(({ textContent }) => textContent);

it('says what the session does, and offers nothing but the way out while it is not waiting', async () => {
  await renderInApp(<NowBar session={session()} sample={null} />);
  expect(screen.getByRole('status')).toHaveTextContent('observing the traffic for a minute');
  expect(buttons()).toEqual(['Detach']);
});

it('asks a person when the session waits for one, and passes the answer on', async () => {
  const asked: string[] = [];
  api.use(
    http.post(url('/live-tuning/sessions/3/:word'), ({ params }) => {
      asked.push(String(params.word));
      return HttpResponse.json(session());
    }),
  );
  await renderInApp(<NowBar session={session({ state: 'waiting-for-a-person' })} sample={null} />);
  expect(buttons()).toEqual(['Promote', 'Reject', 'Detach']);
  const user = userEvent.setup();
  for (const [name, word] of Object.entries({ Reject: 'reject', Promote: 'promote', Detach: 'detach' })) {
    const button = screen.getByRole('button', { name });
    await waitFor(() => expect(button).toBeEnabled());
    await user.click(button);
    await waitFor(() => expect(asked.at(-1)).toBe(word));
  }
});

it('takes no second answer while the first is on its way, and can still be detached', async () => {
  const waiting = session({ state: 'waiting-for-a-person', asked: 'promote' });
  await renderInApp(<NowBar session={waiting} sample={null} />);
  expect(buttons()).toEqual(['Detach']);
});

it('says that it is detaching', async () => {
  await renderInApp(<NowBar session={session({ asked: 'detach' })} sample={null} />);
  expect(screen.getByRole('button', { name: 'Detaching' })).toBeDisabled();
});

it('offers nothing when it has ended', async () => {
  const ended = session({ state: 'ended', ended_at: '2026-11-23T12:10:00Z', sentence: 'detached' });
  await renderInApp(<NowBar session={ended} sample={null} />);
  expect(buttons()).toEqual([]);
});

it('tells what is left of the risk budget, and the sentence of a refusal', async () => {
  api.use(
    http.post(url('/live-tuning/sessions/3/detach'), () =>
      HttpResponse.json({ error: { code: 'x', message: 'It has ended.', field: null } }, { status: 409 }),
    ),
  );
  const budget = { requests: 10_000, harmed: 4, allowed: 10 };
  const data = { share: 0.05, production: null, baseline: null, canary: null, change: null, budget };
  await renderInApp(<NowBar session={session()} sample={{ at: '2026-11-23T12:00:00Z', data }} />);
  expect(screen.getByText(/Risk budget: 6 of 10 requests left/)).toBeInTheDocument();
  await userEvent.setup().click(screen.getByRole('button', { name: 'Detach' }));
  expect(await screen.findByRole('alert')).toHaveTextContent('It has ended.');
});
