import { type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { whenIdle } from '../browser/whenIdle';
import { listTrials, type TrialSummary } from './generated';
import { listTrialsQueryKey } from './generated/@tanstack/react-query.gen';
import { anyOf } from './keys';

/** A trial of the list; `pending`: it is shown, and read (anew) with the next request. */
export type KnownTrial = TrialSummary & { pending?: true };

/** The first page comes fast and fills the table in sight, the others follow once that can be used. */
const FIRST_PAGE = 60;
const LATER_PAGE = 2000;
const LONGEST_WAIT_MS = 2000;

/** The list is one question, in however many pages it is read. */
export const trialsKey = (id: number) => listTrialsQueryKey({ path: { run_id: id } });

export const trialsQuery = (client: QueryClient, id: number) =>
  queryOptions({
    queryKey: trialsKey(id),
    queryFn: ({ signal }) => readTrials(client, id, signal),
  });

/**
 * The recorded trials of a run with their measurements, by number. What has been read once is not read again. What
 * is drawn of them gives way to clicks while more of them arrive.
 */
export function useTrials(id: number) {
  const { data, error, isFetched, refetch } = useQuery(trialsQuery(useQueryClient(), id));
  return { data: useDeferredValue(data), error, isFetched, refetch };
}

/**
 * Has the lists of trials read from the beginning with the next request: a run's, or all. A run's ladder that grows
 * changes the scores and verdicts of trials that have been read. Until then they stay as they are shown.
 */
export function forgetTrials(client: QueryClient, run?: number): void {
  const lists = { queryKey: run === undefined ? anyOf('listTrials') : trialsKey(run) };
  // What is on its way may hold the trials as they were.
  void client.cancelQueries(lists);
  client.setQueriesData<KnownTrial[]>(lists, (known) =>
    known?.map((trial): KnownTrial => ({ ...trial, pending: true })),
  );
}

async function readTrials(client: QueryClient, id: number, signal: AbortSignal): Promise<KnownTrial[]> {
  const known = () => client.getQueryData<KnownTrial[]>(trialsKey(id)) ?? [];
  let read = known().filter(({ pending }) => !pending);
  for (;;) {
    const after = read.at(-1)?.number ?? 0;
    const limit = read.length === 0 ? FIRST_PAGE : LATER_PAGE;
    const page = await listTrials({ path: { run_id: id }, query: { after, limit }, signal });
    signal.throwIfAborted();
    read = [...read, ...page];
    if (page.length < limit) return read;
    const last = page.at(-1)?.number ?? after;
    client.setQueryData(trialsKey(id), [...read, ...known().filter(({ number }) => number > last)]);
    await new Promise<void>((resolve) => whenIdle(resolve, LONGEST_WAIT_MS));
    signal.throwIfAborted();
  }
}
