import { useQuery } from '@tanstack/react-query';
import { getSpaceOptions } from '../../api/generated/@tanstack/react-query.gen';

/** The knobs of a target; with `kernel` those of the kernel as well. */
export function useSpace(target: string, kernel: boolean) {
  return useQuery({
    ...getSpaceOptions({ path: { name: target }, query: { kernel } }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
