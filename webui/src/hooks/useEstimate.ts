import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { call } from '../api/call';
import { estimateRun, type RunSpec } from '../api/generated';
import { keys } from '../api/keys';

/** How many trials a run would take and how long; the last estimate stays visible while a new one is made. */
export function useEstimate(spec: RunSpec) {
  return useQuery({
    queryKey: keys.estimate(spec),
    queryFn: () => call(estimateRun({ body: spec })),
    placeholderData: keepPreviousData,
    retry: false,
  });
}
