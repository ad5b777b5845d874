// The live stream as a tab has it: shared with the other tabs where the browser has shared workers, its own elsewhere.

import { SharedStream, type StreamHandlers } from './sharedStream';
import { LIVE_URL, type ToTab, type ToWorker } from './streamMessages';
import StreamWorker from './streamWorker?sharedworker';

export interface LiveStream {
  /** Begins to listen, or goes on after a rest. */
  open(): void;
  /** Lets go of the stream. */
  rest(): void;
}

/** Where a tab's wish to listen or not goes. */
type Ask = (message: ToWorker) => void;

export function liveStream(handlers: StreamHandlers): LiveStream {
  let listens = false;
  let behind = false;
  let ask: Ask = shared(handlers, () => {
    // The worker could not be loaded, as when the daemon is of another version by now.
    ask = alone(handlers);
    if (listens) ask({ ask: 'join', behind });
  });
  // A tab that is left for another page, and may come back as it was.
  const onHide = () => listens && ask({ ask: 'leave' });
  const onShow = ({ persisted }: PageTransitionEvent) =>
    persisted && listens && ask({ ask: 'join', behind: true });
  return {
    open: () => {
      listens = true;
      ask({ ask: 'join', behind });
      window.addEventListener('pagehide', onHide);
      window.addEventListener('pageshow', onShow);
    },
    rest: () => {
      listens = false;
      behind = true;
      ask({ ask: 'leave' });
      window.removeEventListener('pagehide', onHide);
      window.removeEventListener('pageshow', onShow);
    },
  };
}

/** By the shared worker; `failed` is called where there turns out to be none. */
function shared(handlers: StreamHandlers, failed: () => void): Ask {
  try {
    const worker = new StreamWorker({ name: 'live' });
    worker.onerror = failed;
    worker.port.onmessage = ({ data }: MessageEvent<ToTab>) => {
      if (data.call === 'event') handlers.event(data.event);
      else if (data.call === 'state') handlers.state(data.state);
      else handlers[data.call]();
    };
    return (message) => worker.port.postMessage(message);
  } catch {
    return alone(handlers);
  }
}

/** By a stream of the tab's own. */
function alone(handlers: StreamHandlers): Ask {
  const stream = new SharedStream(LIVE_URL);
  return (message) =>
    message.ask === 'join' ? stream.join(handlers, message.behind) : stream.leave(handlers);
}
