// An EventSource that a test drives by hand; jsdom has none.
import { vi } from 'vitest';

export class FakeEventSource extends EventTarget {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  static last: FakeEventSource;

  readyState = FakeEventSource.CONNECTING;
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;

  constructor(readonly url: string) {
    super();
    FakeEventSource.last = this;
  }

  static install(): void {
    vi.stubGlobal('EventSource', FakeEventSource);
  }

  opened(): void {
    this.readyState = FakeEventSource.OPEN;
    this.onopen?.();
  }

  failed(readyState: number): void {
    this.readyState = readyState;
    this.onerror?.();
  }

  emit(name: string, data: unknown): void {
    this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }));
  }

  close(): void {
    this.readyState = FakeEventSource.CLOSED;
  }
}
