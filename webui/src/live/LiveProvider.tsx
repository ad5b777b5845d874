// Gives every page the live stream: its state, and the store that the Live page draws from.

import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, use, useEffect, useMemo, useState } from 'react';
import { keys } from '../api/keys';
import { hostQuery } from '../hooks/useHost';
import { forgetTrials } from '../hooks/useTrials';
import { applyEvent } from './applyEvent';
import { type ConnectionState, LiveConnection } from './liveConnection';
import { LiveStore } from './liveStore';
import { whileSeen } from './whileSeen';

interface Live {
  state: ConnectionState;
  store: LiveStore;
}

const LiveContext = createContext<Live | null>(null);

export function useLive(): Live {
  const live = use(LiveContext);
  if (live === null) throw new Error('useLive is used outside of LiveProvider');
  return live;
}

export function LiveProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [store] = useState(() => new LiveStore());
  const [state, setState] = useState<ConnectionState>({ status: 'connecting' });

  useEffect(() => {
    const connection = new LiveConnection('/api/v1/live', {
      event: (event) => applyEvent(client, store, event),
      state: setState,
      resumed: () => {
        // The daemon says at once what goes on, if anything does; it may have been killed and begun anew.
        client.setQueryData(keys.progress, null);
        forgetTrials(client);
        client.invalidateQueries();
      },
      // Whoever catches the errors of queries learns from this one whether the daemon asks for its token.
      refused: () => void client.fetchQuery({ ...hostQuery, retry: false, staleTime: 0 }).catch(() => {}),
    });
    connection.open();
    const end = whileSeen({ rest: () => connection.rest(), wake: () => connection.open() });
    return () => {
      end();
      connection.close();
    };
  }, [client, store]);

  const live = useMemo(() => ({ state, store }), [state, store]);
  return <LiveContext value={live}>{children}</LiveContext>;
}
