import { type QueryClient, queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getLiveSamples, type LiveSampleReply, type LiveSessionDetail } from '../../api/generated';
import {
  detachLiveSessionMutation,
  getLiveSamplesQueryKey,
  getLiveSessionOptions,
  getLiveSessionQueryKey,
  listLiveServersOptions,
  listLiveSessionsOptions,
  listLiveSessionsQueryKey,
  promoteLiveSessionMutation,
  rejectLiveSessionMutation,
} from '../../api/generated/@tanstack/react-query.gen';

/** How often a session that goes on is read, in ms: it takes a sample every two seconds at most. */
const SESSION_MS = 2000;
/** How often the lists are read. */
const LISTS_MS = 5000;
/** What the daemon answers at once. */
const PAGE = 3600;
/** So long samples are kept for the charts, in ms. */
const KEPT_MS = 3_600_000;

/** The web servers that run here. */
export function useServers() {
  return useQuery({ ...listLiveServersOptions(), refetchInterval: 2 * LISTS_MS });
}

/** All sessions of this machine, the latest first. */
export function useSessions() {
  return useQuery({ ...listLiveSessionsOptions(), refetchInterval: LISTS_MS });
}

/** One session with its decisions, as it is now. */
export function useSession(id: number) {
  return useQuery({
    ...getLiveSessionOptions({ path: { session_id: id } }),
    refetchInterval: ({ state: { data } }) => (data?.ended_at ? false : SESSION_MS),
  });
}

/** What its arms did in the last hour of it; each time only what is new is read. */
export function useSamples(id: number, goesOn: boolean) {
  return useQuery({ ...samplesQuery(useQueryClient(), id), refetchInterval: goesOn ? SESSION_MS : false });
}

const samplesQuery = (client: QueryClient, id: number) => {
  const queryKey = getLiveSamplesQueryKey({ path: { session_id: id } });
  return queryOptions({
    queryKey,
    queryFn: async ({ signal }): Promise<LiveSampleReply[]> => {
      let known = client.getQueryData<LiveSampleReply[]>(queryKey) ?? [];
      for (;;) {
        const since = known.at(-1)?.at;
        const query = since === undefined ? {} : { since };
        const page = await getLiveSamples({ path: { session_id: id }, query, signal });
        known = lately([...known, ...page]);
        if (page.length < PAGE) return known;
      }
    },
  });
};

/** Those of the last hour. */
export function lately(samples: readonly LiveSampleReply[]): LiveSampleReply[] {
  const since = Date.parse(samples.at(-1)?.at ?? '') - KEPT_MS;
  return samples.filter(({ at }) => Date.parse(at) >= since);
}

/** What a person asks of a session; the answer is shown at once. */
export function useRequests(id: number) {
  const client = useQueryClient();
  const onSuccess = (session: LiveSessionDetail) => {
    client.setQueryData(getLiveSessionQueryKey({ path: { session_id: id } }), session);
    client.invalidateQueries({ queryKey: listLiveSessionsQueryKey() });
  };
  const promote = useMutation({ ...promoteLiveSessionMutation(), onSuccess });
  const reject = useMutation({ ...rejectLiveSessionMutation(), onSuccess });
  const detach = useMutation({ ...detachLiveSessionMutation(), onSuccess });
  const path = { path: { session_id: id } };
  return {
    promote: () => promote.mutate(path),
    reject: () => reject.mutate(path),
    detach: () => detach.mutate(path),
    isPending: promote.isPending || reject.isPending || detach.isPending,
    error: detach.error ?? promote.error ?? reject.error,
  };
}
