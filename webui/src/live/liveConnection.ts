// The one live stream of a tab: /api/v1/live, reconnecting for as long as the page is open.
//
// The browser's EventSource reconnects by itself, with Last-Event-ID, after a broken connection. It gives up when
// the daemon answers with an error (restarting, token missing); then this class opens a new one after a pause.

import { EVENT_NAMES, type LiveEvent } from './events';

export type ConnectionState =
  | { status: 'connecting' }
  | { status: 'open' }
  /** `since`: when it was lost, in ms since the epoch. */
  | { status: 'lost'; since: number };

const RETRY_MS = 2000;

export interface LiveHandlers {
  event(event: LiveEvent): void;
  state(state: ConnectionState): void;
  /** The stream is back after a loss: what happened meanwhile may have been missed. */
  resumed(): void;
}

export class LiveConnection {
  private source: EventSource | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private lostSince: number | null = null;

  constructor(
    private readonly url: string,
    private readonly handlers: LiveHandlers,
  ) {}

  open(): void {
    this.close();
    const source = new EventSource(this.url);
    this.source = source;
    source.onopen = () => {
      this.handlers.state({ status: 'open' });
      if (this.lostSince !== null) this.handlers.resumed();
      this.lostSince = null;
    };
    source.onerror = () => {
      this.lostSince ??= Date.now();
      this.handlers.state({ status: 'lost', since: this.lostSince });
      if (source.readyState === EventSource.CLOSED) {
        clearTimeout(this.retry);
        this.retry = setTimeout(() => this.open(), RETRY_MS);
      }
    };
    for (const name of EVENT_NAMES) {
      source.addEventListener(name, (message) => {
        this.handlers.event({
          event: name,
          data: JSON.parse((message as MessageEvent<string>).data),
        } as LiveEvent);
      });
    }
  }

  close(): void {
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
  }
}
