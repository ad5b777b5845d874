// Gives every page the live stream: its state, and the store that the Live page draws from.

import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, use, useEffect, useMemo, useState } from 'react';
import { getHostOptions } from '../api/generated/@tanstack/react-query.gen';
import { progressKey } from '../api/keys';
import { forgetTrials } from '../api/useTrials';
import { SampleStore } from '../samples/sampleStore';
import { applyEvent } from './applyEvent';
import type { ConnectionState } from './liveConnection';
import { liveStream } from './liveStream';
import { whileSeen } from './whileSeen';

interface Live {
  state: ConnectionState;
  store: SampleStore;
}

const LiveContext = createContext<Live | null>(null);

export function useLive(): Live {
  const live = use(LiveContext);
  if (live === null) throw new Error('useLive is used outside of LiveProvider');
  return live;
}

export function LiveProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [store] = useState(() => new SampleStore());
  const [state, setState] = useState<ConnectionState>({ status: 'connecting' });

  useEffect(() => {
    const stream = liveStream({
      event: (event) => applyEvent(client, store, event),
      state: setState,
      resumed: () => {
        // The daemon says at once what goes on, if anything does; it may have been killed and begun anew.
        client.setQueryData(progressKey, null);
        forgetTrials(client);
        client.invalidateQueries();
      },
      // Whoever catches the errors of queries learns from this one whether the daemon asks for its token.
      refused: () =>
        void client.fetchQuery({ ...getHostOptions(), retry: false, staleTime: 0 }).catch(() => {}),
    });
    const end = whileSeen({ rest: stream.rest, wake: stream.open });
    return () => {
      end();
      stream.rest();
    };
  }, [client, store]);

  const live = useMemo(() => ({ state, store }), [state, store]);
  return <LiveContext value={live}>{children}</LiveContext>;
}
