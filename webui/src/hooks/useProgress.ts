import { useQuery } from '@tanstack/react-query';
import type { Progress } from '../api/generated';
import { keys } from '../api/keys';

/** How far the run that is going on has come, by the live stream; null when none is. */
export function useProgress(): Progress | null {
  const { data } = useQuery<Progress | null>({
    queryKey: keys.progress,
    queryFn: () => null,
    enabled: false,
    initialData: null,
  });
  return data;
}
