import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FakeEventSource } from '../test/fakeEventSource';
import { LiveConnection, SILENCE_MS } from './liveConnection';

const handlers = () => ({ event: vi.fn(), state: vi.fn(), refused: vi.fn() });
const SAMPLE = { time: 1 };

/** A stream that tells something. */
const comesUp = () => {
  FakeEventSource.last.opened();
  FakeEventSource.last.emit('sample', SAMPLE);
};

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

  it('says when it is lost, and when it is back', () => {
    const got = handlers();
    new LiveConnection('/live', got).open();
    comesUp();
    FakeEventSource.last.failed(EventSource.CONNECTING);
    expect(got.state).toHaveBeenLastCalledWith({ status: 'lost', since: Date.now() });
    comesUp();
    expect(got.state).toHaveBeenLastCalledWith({ status: 'open' });
  });

  it('is lost when the stream is up but silent, and open again only once something comes', () => {
    const got = handlers();
    new LiveConnection('/live', got).open();
    comesUp();
    const first = FakeEventSource.last;
    vi.advanceTimersByTime(SILENCE_MS - 1000);
    first.emit('sample', SAMPLE);
    vi.advanceTimersByTime(SILENCE_MS - 1000);
    expect(got.state).toHaveBeenLastCalledWith({ status: 'open' });
    vi.advanceTimersByTime(1000);
    expect(got.state).toHaveBeenLastCalledWith({ status: 'lost', since: Date.now() });
    expect(first.readyState).toBe(EventSource.CLOSED);
    FakeEventSource.last.opened();
    expect(got.state).toHaveBeenLastCalledWith(expect.objectContaining({ status: 'lost' }));
    FakeEventSource.last.emit('sample', SAMPLE);
    expect(got.state).toHaveBeenLastCalledWith({ status: 'open' });
  });

  it('leaves a browser that tries again by itself to do so, which tells the number of the last event', () => {
    new LiveConnection('/live', handlers()).open();
    comesUp();
    const first = FakeEventSource.last;
    first.failed(EventSource.CONNECTING);
    vi.advanceTimersByTime(60_000);
    expect(FakeEventSource.last).toBe(first);
  });

  it('says that it was refused, which a missing token may be the reason of', () => {
    const got = handlers();
    new LiveConnection('/live', got).open();
    FakeEventSource.last.failed(EventSource.CONNECTING);
    expect(got.refused).not.toHaveBeenCalled();
    FakeEventSource.last.failed(EventSource.CLOSED);
    expect(got.refused).toHaveBeenCalledOnce();
  });

  it('is closed without a word of loss, and can be opened again', () => {
    const got = handlers();
    const connection = new LiveConnection('/live', got);
    connection.open();
    comesUp();
    connection.close();
    expect(FakeEventSource.last.readyState).toBe(EventSource.CLOSED);
    expect(got.state).toHaveBeenCalledOnce();
    connection.open();
    comesUp();
    expect(got.state).toHaveBeenLastCalledWith({ status: 'open' });
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
