import { type UseMutationOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import type { RunDetail } from './generated';
import { getRunQueryKey, listRunsQueryKey } from './generated/@tanstack/react-query.gen';

/**
 * A request that changes a run and answers with it: the answer is shown at once. Then the run and the lists are
 * read anew, for a short run may have ended before the answer came, and its last event with it.
 */
export function useRunMutation<Input>(options: UseMutationOptions<RunDetail, Error, Input>) {
  const client = useQueryClient();
  return useMutation({
    ...options,
    onSuccess: (run) => {
      const queryKey = getRunQueryKey({ path: { run_id: run.id } });
      client.setQueryData(queryKey, run);
      client.invalidateQueries({ queryKey });
      client.invalidateQueries({ queryKey: listRunsQueryKey() });
    },
  });
}
