import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { PlanRequest } from '../../api/generated';
import {
  applyAffinityMutation,
  getAffinityQueryKey,
  getTopologyOptions,
  getTopologyQueryKey,
  planAffinityOptions,
  restoreAffinityMutation,
} from '../../api/generated/@tanstack/react-query.gen';
import { anyOf } from '../../api/keys';

/** How often interrupts are counted again, in ms. */
const TOPOLOGY_MS = 5000;

/** CPUs, caches, devices and interrupts as they are now. */
export function useTopology() {
  return useQuery({ ...getTopologyOptions(), refetchInterval: TOPOLOGY_MS });
}

/** What a plan would set; touches nothing. */
export function usePlan(request: PlanRequest, enabled: boolean) {
  return useQuery({ ...planAffinityOptions({ body: request }), enabled, retry: false, staleTime: 0 });
}

/** Puts a plan's masks into force, or every mask back; both fail with 409 while a run is going on. */
export function useAffinityActions() {
  const client = useQueryClient();
  const onSuccess = () => {
    client.invalidateQueries({ queryKey: getTopologyQueryKey() });
    client.invalidateQueries({ queryKey: getAffinityQueryKey() });
    client.invalidateQueries({ queryKey: anyOf('planAffinity') });
  };
  const apply = useMutation({ ...applyAffinityMutation(), onSuccess });
  const restore = useMutation({ ...restoreAffinityMutation(), onSuccess });
  return { apply, restore };
}
