import { beforeEach, expect, it, vi } from 'vitest';
import { FakeEventSource } from '../test/fakeEventSource';
import { liveStream } from './liveStream';

const handlers = () => ({ event: vi.fn(), state: vi.fn(), resumed: vi.fn(), refused: vi.fn() });

/** A shared worker as its tab knows it; jsdom has none. */
class FakeWorker {
  static last: FakeWorker;
  onerror: (() => void) | null = null;
  readonly asked: unknown[] = [];
  readonly port = {
    onmessage: null as ((message: { data: unknown }) => void) | null,
    postMessage: (message: unknown) => this.asked.push(message),
  };

  constructor() {
    FakeWorker.last = this;
  }
}

const sources = () => vi.fn(FakeEventSource);

beforeEach(() => FakeEventSource.install());

it('a tab leaves the connection to the worker, and hears by it', () => {
  vi.stubGlobal('SharedWorker', FakeWorker);
  const opened = sources();
  vi.stubGlobal('EventSource', opened);
  const got = handlers();
  const stream = liveStream(got);
  stream.open();
  stream.rest();
  stream.open();
  expect(FakeWorker.last.asked).toEqual([
    { ask: 'join', behind: false },
    { ask: 'leave' },
    { ask: 'join', behind: true },
  ]);
  FakeWorker.last.port.onmessage?.({ data: { call: 'state', state: { status: 'open' } } });
  FakeWorker.last.port.onmessage?.({ data: { call: 'resumed' } });
  expect(got.state).toHaveBeenCalledWith({ status: 'open' });
  expect(got.resumed).toHaveBeenCalledOnce();
  expect(opened).not.toHaveBeenCalled();
  stream.rest();
});

it('a tab that is left gives the stream up, and takes it again when its user comes back', () => {
  vi.stubGlobal('SharedWorker', FakeWorker);
  const stream = liveStream(handlers());
  stream.open();
  window.dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }));
  window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
  expect(FakeWorker.last.asked.slice(1)).toEqual([{ ask: 'leave' }, { ask: 'join', behind: true }]);
  stream.rest();
});

it('a tab has a stream of its own where the worker cannot be loaded', () => {
  vi.stubGlobal('SharedWorker', FakeWorker);
  const got = handlers();
  const stream = liveStream(got);
  stream.open();
  FakeWorker.last.onerror?.();
  FakeEventSource.last.opened();
  FakeEventSource.last.emit('sample', { time: 1 });
  expect(got.event).toHaveBeenCalledWith({ event: 'sample', data: { time: 1 } });
  stream.rest();
  expect(FakeEventSource.last.readyState).toBe(EventSource.CLOSED);
});
