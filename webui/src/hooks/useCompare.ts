import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { call } from '../api/call';
import { compare } from '../api/generated';
import { keys } from '../api/keys';

/** Runs side by side; the last answer stays while another choice is read. */
export function useCompare(runs: readonly number[]) {
  return useQuery({
    queryKey: keys.compare(runs),
    queryFn: () => call(compare({ query: { run: [...runs] } })),
    enabled: runs.length > 0,
    placeholderData: keepPreviousData,
  });
}
