// The shared worker that holds the live stream of all tabs. A tab says `join` and `leave`; it is told what its
// handlers are to be called with.

import { SharedStream, type StreamHandlers } from './sharedStream';
import { LIVE_URL, type ToTab, type ToWorker } from './streamMessages';

const stream = new SharedStream(LIVE_URL);

self.addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports;
  if (port === undefined) return;
  const tell = (message: ToTab) => port.postMessage(message);
  const tab: StreamHandlers = {
    event: (event) => tell({ call: 'event', event }),
    state: (state) => tell({ call: 'state', state }),
    resumed: () => tell({ call: 'resumed' }),
    refused: () => tell({ call: 'refused' }),
  };
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    if (data.ask === 'join') stream.join(tab, data.behind);
    else stream.leave(tab);
  };
  // Not every browser says that a tab has gone without a word.
  port.addEventListener('close', () => stream.leave(tab));
});
