import { queryOptions, useQuery } from '@tanstack/react-query';
import { call } from '../api/call';
import { getRun } from '../api/generated';
import { keys } from '../api/keys';

export const runQuery = (id: number) =>
  queryOptions({ queryKey: keys.run(id), queryFn: () => call(getRun({ path: { run_id: id } })) });

/** One run with its space, ladder and outcome. */
export function useRun(id: number) {
  return useQuery(runQuery(id));
}
