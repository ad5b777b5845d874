import { queryOptions, useQuery } from '@tanstack/react-query';
import { call } from '../api/call';
import { getHost } from '../api/generated';
import { keys } from '../api/keys';

export const hostQuery = queryOptions({
  queryKey: keys.host,
  queryFn: () => call(getHost()),
  staleTime: Number.POSITIVE_INFINITY,
});

/** The machine the daemon runs on, and which CPUs serve and generate load. */
export function useHost() {
  return useQuery(hostQuery);
}
