import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { call } from '../api/call';
import { getCounters } from '../api/generated';
import { keys } from '../api/keys';
import { useLive } from '../live/LiveProvider';
import { MAX_POINTS } from '../live/liveStore';
import { samplesPerPoint } from '../maths/decimate';

/**
 * Fills the live store with what the daemon has kept of the last seconds, as finely as a chart shows it; while not
 * `wanted` nothing is asked for.
 */
export function useStoredSamples(seconds: number, wanted: boolean) {
  const { store } = useLive();
  const step_s = samplesPerPoint(seconds, 1, MAX_POINTS);
  const query = useQuery({
    queryKey: keys.counters(seconds),
    queryFn: () => call(getCounters({ query: { seconds, step_s } })),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    enabled: wanted,
  });
  useEffect(() => {
    if (query.data) store.addHistory(query.data.map(({ values }) => values));
  }, [query.data, store]);
  return query;
}
