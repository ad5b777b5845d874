import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { call } from '../api/call';
import { getCounters } from '../api/generated';
import { keys } from '../api/keys';
import { useLive } from '../live/LiveProvider';

/** Fills the live store with the samples of the last seconds that the daemon has kept. */
export function useStoredSamples(seconds: number) {
  const { store } = useLive();
  const query = useQuery({
    queryKey: keys.counters(seconds),
    queryFn: () => call(getCounters({ query: { seconds } })),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  useEffect(() => {
    if (query.data) store.addHistory(query.data.map(({ values }) => values));
  }, [query.data, store]);
  return query;
}
