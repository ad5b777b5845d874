import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import {
  drainStationMutation,
  forgetStationMutation,
  getFleetOptions,
  getFleetQueryKey,
} from './generated/@tanstack/react-query.gen';

/** How often the fleet is read while a page shows it, in ms. */
const FLEET_MS = 5000;

/** The stations of the fleet; read again and again where `live`. */
export function useFleet({ live = false }: { live?: boolean } = {}) {
  return useQuery({ ...getFleetOptions(), refetchInterval: live ? FLEET_MS : false });
}

/** What a person asks of a station; the list is read anew then. */
export function useStationRequests(name: string) {
  const client = useQueryClient();
  const onSuccess = () => client.invalidateQueries({ queryKey: getFleetQueryKey() });
  const drain = useMutation({ ...drainStationMutation(), onSuccess });
  const forget = useMutation({ ...forgetStationMutation(), onSuccess });
  return {
    drain: () => drain.mutate({ path: { name } }),
    forget: () => forget.mutate({ path: { name } }),
    isPending: drain.isPending || forget.isPending,
    error: drain.error ?? forget.error,
  };
}
