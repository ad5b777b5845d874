import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeEventSource } from '../test/fakeEventSource';
import { LiveConnection } from './liveConnection';

const handlers = () => ({ event: vi.fn(), state: vi.fn(), resumed: vi.fn() });

beforeEach(() => {
  vi.useFakeTimers();
  FakeEventSource.install();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('LiveConnection', () => {
  it('hands on events with their decoded data', () => {
    const got = handlers();
    new LiveConnection('/live', got).open();
    FakeEventSource.last.emit('run', { run_id: 7, state: 'running', phase: 'searching' });
    expect(got.event).toHaveBeenCalledWith({
      event: 'run',
      data: { run_id: 7, state: 'running', phase: 'searching' },
    });
  });

  it('says when it is lost, and when it is back asks for what was missed', () => {
    const got = handlers();
    new LiveConnection('/live', got).open();
    FakeEventSource.last.opened();
    expect(got.resumed).not.toHaveBeenCalled();
    FakeEventSource.last.failed(EventSource.CONNECTING);
    expect(got.state).toHaveBeenLastCalledWith({ status: 'lost', since: Date.now() });
    FakeEventSource.last.opened();
    expect(got.state).toHaveBeenLastCalledWith({ status: 'open' });
    expect(got.resumed).toHaveBeenCalledOnce();
  });

  it('opens a new stream when the browser has given up', () => {
    const connection = new LiveConnection('/live', handlers());
    connection.open();
    const first = FakeEventSource.last;
    first.failed(EventSource.CLOSED);
    vi.advanceTimersByTime(2500);
    expect(FakeEventSource.last).not.toBe(first);
  });

  it('does not come back once it is closed', () => {
    const connection = new LiveConnection('/live', handlers());
    connection.open();
    const first = FakeEventSource.last;
    first.failed(EventSource.CLOSED);
    connection.close();
    vi.advanceTimersByTime(60_000);
    expect(FakeEventSource.last).toBe(first);
  });
});
