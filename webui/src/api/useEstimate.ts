import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { RunSpec } from './generated';
import { estimateRunOptions } from './generated/@tanstack/react-query.gen';

/** How many trials a run would take and how long; the last estimate stays visible while a new one is made. */
export function useEstimate(spec: RunSpec) {
  return useQuery({
    ...estimateRunOptions({ body: spec }),
    placeholderData: keepPreviousData,
    retry: false,
  });
}
