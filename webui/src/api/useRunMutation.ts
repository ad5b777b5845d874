import { type UseMutationOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import type { RunDetail } from './generated';
import { getRunQueryKey, listRunsQueryKey } from './generated/@tanstack/react-query.gen';

/** A request that changes a run and answers with it: the answer is shown at once, and lists of runs are read anew. */
export function useRunMutation<Input>(options: UseMutationOptions<RunDetail, Error, Input>) {
  const client = useQueryClient();
  return useMutation({
    ...options,
    onSuccess: (run) => {
      client.setQueryData(getRunQueryKey({ path: { run_id: run.id } }), run);
      client.invalidateQueries({ queryKey: listRunsQueryKey() });
    },
  });
}
