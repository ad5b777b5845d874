import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../api/call';
import {
  applyAffinity,
  getAffinity,
  getMeasuredPlans,
  getTopology,
  type PlanRequest,
  planAffinity,
  restoreAffinity,
} from '../api/generated';
import { keys } from '../api/keys';

/** How often interrupts are counted again, in ms. */
const TOPOLOGY_MS = 5000;

/** CPUs, caches, devices and interrupts as they are now. */
export function useTopology() {
  return useQuery({
    queryKey: keys.topology,
    queryFn: () => call(getTopology()),
    refetchInterval: TOPOLOGY_MS,
  });
}

/** Which masks are in force, what has drifted, and who else moves interrupts. */
export function useAffinity() {
  return useQuery({ queryKey: keys.affinity, queryFn: () => call(getAffinity()) });
}

/** Which plan the recorded runs of this machine have found to be best, and by how much. */
export function useMeasuredPlans() {
  return useQuery({ queryKey: keys.measuredPlans, queryFn: () => call(getMeasuredPlans()) });
}

/** What a plan would set; touches nothing. */
export function usePlan(request: PlanRequest, enabled: boolean) {
  return useQuery({
    queryKey: keys.plan(request),
    queryFn: () => call(planAffinity({ body: request })),
    enabled,
    retry: false,
    staleTime: 0,
  });
}

/** Puts a plan's masks into force, or every mask back; both fail with 409 while a run is going on. */
export function useAffinityActions() {
  const client = useQueryClient();
  const onSuccess = () => client.invalidateQueries({ queryKey: keys.hostState });
  const apply = useMutation({
    mutationFn: (body: PlanRequest) => call(applyAffinity({ body })),
    onSuccess,
  });
  const restore = useMutation({ mutationFn: () => call(restoreAffinity()), onSuccess });
  return { apply, restore };
}
