import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { call } from '../api/call';
import { listRuns } from '../api/generated';
import { keys } from '../api/keys';

/** A page of the runs, newest first; `archived`: also of those in the archive. */
export function useRuns(limit: number, offset = 0, archived = false) {
  return useQuery({
    queryKey: keys.runs(limit, offset, archived),
    queryFn: () => call(listRuns({ query: { limit, offset, archived } })),
    placeholderData: keepPreviousData,
  });
}
