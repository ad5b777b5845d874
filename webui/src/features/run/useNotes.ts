import { useQueryClient } from '@tanstack/react-query';
import { ApiError } from '../../api/errors';
import { noteRun, type RunDetail } from '../../api/generated';
import { getRunQueryKey } from '../../api/generated/@tanstack/react-query.gen';
import { useRunMutation } from '../../api/useRunMutation';

/** What a user has written about a run. */
export type Written = Pick<RunDetail, 'name' | 'notes' | 'tags'>;

export const sameWords = (a: Written, b: Written): boolean =>
  a.name === b.name && a.notes === b.notes && a.tags.join('\n') === b.tags.join('\n');

/** Replaces the name, notes and tags of a run, if they are still that `version`; else they are read anew. */
export function useNotes(id: number) {
  const client = useQueryClient();
  const path = { run_id: id };
  return useRunMutation({
    mutationFn: ({ version, ...body }: Written & { version: string }) =>
      noteRun({ path, body, headers: { 'if-match': `"${version}"` } }),
    onError: async (error) => {
      const changed = error instanceof ApiError && error.code === 'changed-meanwhile';
      if (changed) await client.invalidateQueries({ queryKey: getRunQueryKey({ path }) });
    },
  });
}
