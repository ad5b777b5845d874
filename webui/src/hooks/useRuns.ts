import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { call } from '../api/call';
import { listRuns } from '../api/generated';
import { keys } from '../api/keys';

/** A page of the runs, newest first. */
export function useRuns(limit: number, offset = 0) {
  return useQuery({
    queryKey: keys.runs(limit, offset),
    queryFn: () => call(listRuns({ query: { limit, offset } })),
    placeholderData: keepPreviousData,
  });
}
