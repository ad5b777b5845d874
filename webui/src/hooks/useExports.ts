import { useQuery } from '@tanstack/react-query';
import { call } from '../api/call';
import { listExports } from '../api/generated';
import { keys } from '../api/keys';

/** The configuration files of a run, with what each server's own check said. */
export function useExports(id: number) {
  return useQuery({
    queryKey: keys.exports(id),
    queryFn: () => call(listExports({ path: { run_id: id } })),
  });
}
