import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { getCountersOptions } from '../../api/generated/@tanstack/react-query.gen';
import { samplesPerPoint } from '../../maths/decimate';
import { MAX_POINTS } from '../../samples/sampleStore';
import { useLive } from '../../stream/LiveProvider';

/**
 * Fills the live store with what the daemon has kept of the last seconds, as finely as a chart shows it; while not
 * `wanted` nothing is asked for.
 */
export function useStoredSamples(seconds: number, wanted: boolean) {
  const { store } = useLive();
  const step_s = samplesPerPoint(seconds, 1, MAX_POINTS);
  const query = useQuery({
    ...getCountersOptions({ query: { seconds, step_s } }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    enabled: wanted,
  });
  useEffect(() => {
    if (query.data) store.addHistory(query.data.map(({ values }) => values));
  }, [query.data, store]);
  return query;
}
