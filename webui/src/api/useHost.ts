import { useQuery } from '@tanstack/react-query';
import { getHostOptions } from './generated/@tanstack/react-query.gen';

/** The machine the daemon runs on, and which CPUs serve and generate load. */
export function useHost() {
  return useQuery({ ...getHostOptions(), staleTime: Number.POSITIVE_INFINITY });
}
