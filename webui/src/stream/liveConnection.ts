// A connection to the live stream, /api/v1/live, that comes back for as long as it is wanted.
//
// The browser's EventSource reconnects by itself, with Last-Event-ID, after a broken connection. It gives up when
// the daemon answers with an error (restarting, token missing); then this class opens a new one after a pause. A
// stream counts as open from its first event on, and as lost when none has come for a while: the daemon sends a
// sample every second, and a connection that is up but silent shows what has been.

import { EVENT_NAMES, type LiveEvent } from './events';

export type ConnectionState =
  | { status: 'connecting' }
  | { status: 'open' }
  /** `since`: when it was lost, in ms since the epoch. */
  | { status: 'lost'; since: number };

const RETRY_MS = 2000;
/** As long as ten samples take to come. */
export const SILENCE_MS = 10_000;

export interface ConnectionHandlers {
  event(event: LiveEvent): void;
  state(state: ConnectionState): void;
  /** The daemon has answered with an error, which the browser does not tell; perhaps it asks for its token. */
  refused(): void;
}

export class LiveConnection {
  private source: EventSource | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private watchdog: ReturnType<typeof setTimeout> | undefined;
  private lostSince: number | null = null;
  /** No event has come since it was opened, lost or closed. */
  private waiting = true;

  constructor(
    private readonly url: string,
    private readonly handlers: ConnectionHandlers,
  ) {}

  open(): void {
    this.end();
    const source = new EventSource(this.url);
    this.source = source;
    source.onopen = () => this.watch();
    source.onerror = () => {
      // From here on the browser tries again by itself, with the number of the last event.
      clearTimeout(this.watchdog);
      this.lost();
      if (source.readyState !== EventSource.CLOSED) return;
      this.handlers.refused();
      clearTimeout(this.retry);
      this.retry = setTimeout(() => this.open(), RETRY_MS);
    };
    for (const name of EVENT_NAMES) {
      source.addEventListener(name, (message) => {
        this.arrived();
        this.handlers.event({
          event: name,
          data: JSON.parse((message as MessageEvent<string>).data),
        } as LiveEvent);
      });
    }
  }

  /** Closes the stream until it is opened again; that is no loss to tell anybody of. */
  close(): void {
    this.end();
    this.lostSince = null;
  }

  private end(): void {
    clearTimeout(this.retry);
    clearTimeout(this.watchdog);
    this.source?.close();
    this.source = null;
    this.waiting = true;
  }

  private arrived(): void {
    this.watch();
    if (!this.waiting) return;
    this.waiting = false;
    this.lostSince = null;
    this.handlers.state({ status: 'open' });
  }

  private lost(): void {
    this.waiting = true;
    this.lostSince ??= Date.now();
    this.handlers.state({ status: 'lost', since: this.lostSince });
  }

  private watch(): void {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => {
      this.lost();
      this.open();
    }, SILENCE_MS);
  }
}
