import { useQuery } from '@tanstack/react-query';
import { keys } from '../api/keys';
import type { LadderSoFar } from '../live/applyEvent';

/** The rates already measured of the trial under way in this run, by the live stream. */
export function useLadderSoFar(runId: number): LadderSoFar | null {
  const { data } = useQuery<LadderSoFar | null>({
    queryKey: keys.ladderSoFar,
    queryFn: () => null,
    enabled: false,
    initialData: null,
  });
  return data?.run_id === runId ? data : null;
}
