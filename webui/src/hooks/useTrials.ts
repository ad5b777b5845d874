import { useQuery } from '@tanstack/react-query';
import { call } from '../api/call';
import { listTrials } from '../api/generated';
import { keys } from '../api/keys';

/** The recorded trials of a run with their measurements, by number. */
export function useTrials(id: number) {
  return useQuery({
    queryKey: keys.trials(id),
    queryFn: () => call(listTrials({ path: { run_id: id } })),
  });
}
