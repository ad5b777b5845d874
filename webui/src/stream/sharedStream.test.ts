import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FakeEventSource } from '../test/fakeEventSource';
import { counterSample, progress } from '../test/records';
import { SharedStream } from './sharedStream';

const listener = () => ({ event: vi.fn(), state: vi.fn(), resumed: vi.fn(), refused: vi.fn() });
const sample = counterSample(1);
const rate = (number: number, trial = 3) => ({ run_id: 7, trial, number, rate_rps: 100 * number });

const comesUp = () => {
  FakeEventSource.last.opened();
  FakeEventSource.last.emit('sample', sample);
};

beforeEach(() => {
  vi.useFakeTimers();
  FakeEventSource.install();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it('many listeners hear one connection, which ends with the last of them', () => {
  const stream = new SharedStream('/live');
  const [first, second] = [listener(), listener()];
  stream.join(first, false);
  const source = FakeEventSource.last;
  comesUp();
  stream.join(second, false);
  expect(FakeEventSource.last).toBe(source);
  expect(second.state).toHaveBeenLastCalledWith({ status: 'open' });
  FakeEventSource.last.emit('sample', sample);
  for (const { event } of [first, second])
    expect(event).toHaveBeenLastCalledWith({ event: 'sample', data: sample });
  stream.leave(first);
  expect(source.readyState).toBe(EventSource.OPEN);
  stream.leave(second);
  expect(source.readyState).toBe(EventSource.CLOSED);
});

it('whoever comes in the middle of a trial learns how far it is, and of no other trial', () => {
  const stream = new SharedStream('/live');
  stream.join(listener(), false);
  comesUp();
  FakeEventSource.last.emit('progress', progress());
  FakeEventSource.last.emit('measurement', rate(1, 2));
  FakeEventSource.last.emit('measurement', rate(1));
  FakeEventSource.last.emit('measurement', rate(2));
  const late = listener();
  stream.join(late, false);
  expect(late.event.mock.calls.map(([told]) => told)).toEqual([
    { event: 'progress', data: progress() },
    { event: 'measurement', data: rate(1) },
    { event: 'measurement', data: rate(2) },
  ]);
  FakeEventSource.last.emit('run', { run_id: 7, state: 'finished', phase: null });
  const later = listener();
  stream.join(later, false);
  expect(later.event).not.toHaveBeenCalled();
});

it('only who was there before, and missed something, is to ask for what was missed', () => {
  const stream = new SharedStream('/live');
  const [there, new_] = [listener(), listener()];
  stream.join(there, false);
  comesUp();
  expect(there.resumed).not.toHaveBeenCalled();
  FakeEventSource.last.failed(EventSource.CONNECTING);
  expect(there.state).toHaveBeenLastCalledWith({ status: 'lost', since: Date.now() });
  comesUp();
  stream.join(new_, false);
  expect(there.resumed).toHaveBeenCalledOnce();
  expect(new_.resumed).not.toHaveBeenCalled();
  stream.leave(there);
  stream.join(there, true);
  expect(there.resumed).toHaveBeenCalledTimes(2);
});

it('what was under way before the stream was lost is not told as if it still were', () => {
  const stream = new SharedStream('/live');
  stream.join(listener(), false);
  comesUp();
  FakeEventSource.last.emit('progress', progress());
  FakeEventSource.last.failed(EventSource.CONNECTING);
  const late = listener();
  stream.join(late, false);
  expect(late.state).toHaveBeenLastCalledWith({ status: 'lost', since: Date.now() });
  expect(late.event).not.toHaveBeenCalled();
});

it('all who listen learn that the daemon has refused', () => {
  const stream = new SharedStream('/live');
  const both = [listener(), listener()];
  for (const one of both) stream.join(one, false);
  FakeEventSource.last.failed(EventSource.CLOSED);
  for (const { refused } of both) expect(refused).toHaveBeenCalledOnce();
});
