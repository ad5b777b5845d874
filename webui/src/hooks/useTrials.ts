import { type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { call } from '../api/call';
import { listTrials, type TrialSummary } from '../api/generated';
import { keys } from '../api/keys';
import { whenIdle } from './whenIdle';

/** A trial of the list; `pending`: known from the live stream, its measurements have not been read yet. */
export type KnownTrial = TrialSummary & { pending?: true };

/** The first page comes fast and fills the table in sight, the others follow once that can be used. */
const FIRST_PAGE = 60;
const LATER_PAGE = 2000;
const LONGEST_WAIT_MS = 2000;

export const trialsQuery = (client: QueryClient, id: number) =>
  queryOptions({ queryKey: keys.trials(id), queryFn: () => readTrials(client, id) });

/**
 * The recorded trials of a run with their measurements, by number. What has been read once is not read again. What
 * is drawn of them gives way to clicks while more of them arrive.
 */
export function useTrials(id: number) {
  const { data, error, isFetched, refetch } = useQuery(trialsQuery(useQueryClient(), id));
  return { data: useDeferredValue(data), error, isFetched, refetch };
}

async function readTrials(client: QueryClient, id: number): Promise<KnownTrial[]> {
  let read = (client.getQueryData<KnownTrial[]>(keys.trials(id)) ?? []).filter(({ pending }) => !pending);
  for (;;) {
    const limit = read.length === 0 ? FIRST_PAGE : LATER_PAGE;
    const page = await call(
      listTrials({ path: { run_id: id }, query: { after: read.at(-1)?.number ?? 0, limit } }),
    );
    read = [...read, ...page];
    if (page.length < limit) return read;
    client.setQueryData(keys.trials(id), read);
    await new Promise<void>((resolve) => whenIdle(resolve, LONGEST_WAIT_MS));
  }
}
