import { useQuery } from '@tanstack/react-query';
import { call } from '../api/call';
import { getRun } from '../api/generated';
import { keys } from '../api/keys';

/** One run with its space, ladder and outcome. */
export function useRun(id: number) {
  return useQuery({ queryKey: keys.run(id), queryFn: () => call(getRun({ path: { run_id: id } })) });
}
