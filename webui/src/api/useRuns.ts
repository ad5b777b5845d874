import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { listRunsOptions } from './generated/@tanstack/react-query.gen';

/** A page of the runs, newest first; `archived`: also of those in the archive. */
export function useRuns(limit: number, offset = 0, archived = false) {
  return useQuery({
    ...listRunsOptions({ query: { limit, offset, archived } }),
    placeholderData: keepPreviousData,
  });
}
