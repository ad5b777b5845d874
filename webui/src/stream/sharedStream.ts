// One connection to the live stream for many tabs: browsers allow six to a host, in all tabs together.
//
// It is open while somebody listens. Whoever comes to a stream that is open already is told what the daemon tells at
// the beginning of one: how far the run is, and what the trial under way has measured.

import type { LadderSoFar } from '../api/useProgress';
import type { LiveEvent } from './events';
import { withMeasurement } from './ladderSoFar';
import { type ConnectionHandlers, type ConnectionState, LiveConnection } from './liveConnection';

export interface StreamHandlers extends ConnectionHandlers {
  /** The stream is back: what happened meanwhile may have been missed. */
  resumed(): void;
}

export class SharedStream {
  /** Who listens, and whether it has missed something. */
  private readonly listeners = new Map<StreamHandlers, { behind: boolean }>();
  private readonly connection: LiveConnection;
  private state: ConnectionState = { status: 'connecting' };
  private progress: LiveEvent | null = null;
  private underWay: LadderSoFar | null = null;

  constructor(url: string) {
    this.connection = new LiveConnection(url, {
      event: (event) => {
        this.remember(event);
        for (const listener of this.listeners.keys()) listener.event(event);
      },
      state: (state) => {
        this.state = state;
        if (state.status === 'lost') this.forget();
        for (const [listener, about] of this.listeners) this.tell(listener, about);
      },
      refused: () => {
        for (const listener of this.listeners.keys()) listener.refused();
      },
    });
  }

  /** `behind`: it has listened before, and not all the time since. */
  join(listener: StreamHandlers, behind: boolean): void {
    const about = { behind };
    this.listeners.set(listener, about);
    if (this.listeners.size === 1) this.connection.open();
    this.tell(listener, about);
    if (this.progress !== null) listener.event(this.progress);
    for (const data of this.underWay?.measurements ?? []) listener.event({ event: 'measurement', data });
  }

  leave(listener: StreamHandlers): void {
    if (!this.listeners.delete(listener) || this.listeners.size > 0) return;
    this.connection.close();
    this.state = { status: 'connecting' };
    this.forget();
  }

  private tell(listener: StreamHandlers, about: { behind: boolean }): void {
    listener.state(this.state);
    if (this.state.status === 'lost') about.behind = true;
    if (this.state.status !== 'open' || !about.behind) return;
    about.behind = false;
    listener.resumed();
  }

  private remember(event: LiveEvent): void {
    if (event.event === 'progress') this.progress = event.data.state === 'running' ? event : null;
    if (event.event === 'measurement') this.underWay = withMeasurement(this.underWay, event.data);
    if (event.event === 'run' && event.data.state !== 'running') this.forget();
  }

  private forget(): void {
    this.progress = null;
    this.underWay = null;
  }
}
