import { useQuery } from '@tanstack/react-query';
import { call } from '../api/call';
import { getTrial, getTrialCounters } from '../api/generated';
import { keys } from '../api/keys';

/** One trial with all it measured; a recorded trial never changes. */
export function useTrial(id: number, number: number) {
  return useQuery({
    queryKey: keys.trial(id, number),
    queryFn: () => call(getTrial({ path: { run_id: id, number } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** The counters of the time in which a trial was measured. */
export function useTrialCounters(id: number, number: number) {
  return useQuery({
    queryKey: keys.trialCounters(id, number),
    queryFn: () => call(getTrialCounters({ path: { run_id: id, number } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
