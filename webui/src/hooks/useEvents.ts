import { useQuery } from '@tanstack/react-query';
import { call } from '../api/call';
import { listEvents } from '../api/generated';
import { keys } from '../api/keys';

/** What happened in a run, oldest first. */
export function useEvents(id: number) {
  return useQuery({
    queryKey: keys.events(id),
    queryFn: () => call(listEvents({ path: { run_id: id } })),
  });
}
