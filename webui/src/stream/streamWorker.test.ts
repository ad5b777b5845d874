import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FakeEventSource } from '../test/fakeEventSource';
import type { ToTab, ToWorker } from './streamMessages';

/** The worker's side of the world, which it listens to from the moment it is loaded. */
const scope = new EventTarget();

/** A tab that connects to the worker, with what it has been told. */
function tab() {
  const { port1, port2 } = new MessageChannel();
  const told: ToTab[] = [];
  port1.onmessage = ({ data }) => told.push(data);
  scope.dispatchEvent(Object.assign(new Event('connect'), { ports: [port2] }));
  return { told, close: () => port1.close(), ask: (message: ToWorker) => port1.postMessage(message) };
}

beforeEach(async () => {
  FakeEventSource.install();
  vi.stubGlobal('self', scope);
  await import('./streamWorker');
});
afterEach(() => vi.unstubAllGlobals());

it('two tabs hear one stream, which ends when both have gone, one of them without a word', async () => {
  const [first, second] = [tab(), tab()];
  first.ask({ ask: 'join', behind: false });
  await expect.poll(() => first.told).toEqual([{ call: 'state', state: { status: 'connecting' } }]);
  const source = FakeEventSource.last;
  source.opened();
  second.ask({ ask: 'join', behind: false });
  await expect.poll(() => second.told).toHaveLength(1);
  source.emit('sample', { time: 1 });
  const heard = { call: 'event', event: { event: 'sample', data: { time: 1 } } };
  for (const { told } of [first, second]) await expect.poll(() => told.at(-1)).toEqual(heard);
  expect(FakeEventSource.last).toBe(source);
  first.ask({ ask: 'leave' });
  second.close();
  await expect.poll(() => source.readyState).toBe(EventSource.CLOSED);
});
