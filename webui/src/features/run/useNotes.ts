import { useQueryClient } from '@tanstack/react-query';
import { noteRun, type RunDetail } from '../../api/generated';
import { getRunOptions } from '../../api/generated/@tanstack/react-query.gen';
import { useRunMutation } from '../../api/useRunMutation';

/** What a user has written about a run. */
export type Written = Pick<RunDetail, 'name' | 'notes' | 'tags'>;

export const sameWords = (a: Written, b: Written): boolean =>
  a.name === b.name && a.notes === b.notes && a.tags.join('\n') === b.tags.join('\n');

/** Replaces the name, notes and tags of a run; fails when they are no longer `known`, and has what they are read. */
export function useNotes(id: number) {
  const client = useQueryClient();
  const path = { run_id: id };
  return useRunMutation({
    mutationFn: async ({ known, ...body }: Written & { known: Written }) => {
      const { name, notes, tags } = await client.fetchQuery({ ...getRunOptions({ path }), staleTime: 0 });
      if (!sameWords({ name, notes, tags }, known)) throw new Error('The notes have been changed meanwhile.');
      return noteRun({ path, body });
    },
  });
}
