import { useQuery } from '@tanstack/react-query';
import { call } from '../api/call';
import { getSpace } from '../api/generated';
import { keys } from '../api/keys';

/** The knobs of a target. */
export function useSpace(target: string) {
  return useQuery({
    queryKey: keys.space(target),
    queryFn: () => call(getSpace({ path: { name: target } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
