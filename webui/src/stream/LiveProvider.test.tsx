import { QueryCache, QueryClient } from '@tanstack/react-query';
import { act, screen, waitFor } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { beforeEach, expect, it, vi } from 'vitest';
import { FakeEventSource } from '../test/fakeEventSource';
import { counterSample } from '../test/records';
import { api, renderInApp, url } from '../test/render';
import { LiveProvider, useLive } from './LiveProvider';
import { PATIENCE_MS } from './whileSeen';

const State = () => <p data-testid="state">{useLive().state.status}</p>;

const page = (
  <LiveProvider>
    <State />
  </LiveProvider>
);

const comesUp = () =>
  act(() => {
    FakeEventSource.last.opened();
    FakeEventSource.last.emit('sample', counterSample(1));
  });

const see = (visibilityState: DocumentVisibilityState) => {
  vi.spyOn(document, 'visibilityState', 'get').mockReturnValue(visibilityState);
  act(() => void document.dispatchEvent(new Event('visibilitychange')));
};

beforeEach(() => FakeEventSource.install());

it('a daemon that asks for its token after a restart is found out', async () => {
  const missing = {
    error: { code: 'token-required', message: 'This daemon asks for its token.', field: null },
  };
  api.use(http.get(url('/host'), () => HttpResponse.json(missing, { status: 401 })));
  const onError = vi.fn();
  await renderInApp(page, new QueryClient({ queryCache: new QueryCache({ onError }) }));
  comesUp();
  act(() => FakeEventSource.last.failed(EventSource.CLOSED));
  await waitFor(() => expect(onError.mock.calls[0]?.[0]).toMatchObject({ status: 401 }));
});

it('a tab that is hidden for a while gives its connection back, and takes one up when it is seen again', async () => {
  await renderInApp(page);
  comesUp();
  const first = FakeEventSource.last;
  vi.useFakeTimers();
  see('hidden');
  act(() => void vi.advanceTimersByTime(PATIENCE_MS - 1));
  expect(first.readyState).toBe(EventSource.OPEN);
  act(() => void vi.advanceTimersByTime(1));
  expect(first.readyState).toBe(EventSource.CLOSED);
  see('visible');
  expect(FakeEventSource.last).not.toBe(first);
  comesUp();
  expect(screen.getByTestId('state')).toHaveTextContent('open');
});

it('whoever looks into another tab for a moment finds the stream as it was', async () => {
  await renderInApp(page);
  comesUp();
  const first = FakeEventSource.last;
  vi.useFakeTimers();
  see('hidden');
  act(() => void vi.advanceTimersByTime(PATIENCE_MS - 1));
  see('visible');
  act(() => void vi.advanceTimersByTime(1));
  expect(FakeEventSource.last).toBe(first);
  expect(first.readyState).toBe(EventSource.OPEN);
});
