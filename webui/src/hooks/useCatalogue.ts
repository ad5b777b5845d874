import { useQuery } from '@tanstack/react-query';
import { call } from '../api/call';
import {
  type ConditionsReply,
  getConditions,
  getObjectives,
  getPresets,
  getSecondObjectives,
  getStrategies,
  getTargets,
  getWorkloads,
  type Named,
  type Preset,
  type TargetReply,
} from '../api/generated';
import { keys } from '../api/keys';

export interface Catalogue {
  presets: Preset[];
  targets: TargetReply[];
  workloads: Named[];
  strategies: Named[];
  objectives: Named[];
  secondObjectives: Named[];
  conditions: ConditionsReply;
}

/** Everything that can be chosen for a run apart from the knobs; it does not change while the daemon runs. */
export function useCatalogue() {
  return useQuery({
    queryKey: keys.catalogue,
    queryFn: async (): Promise<Catalogue> => {
      const [presets, targets, workloads, strategies, objectives, secondObjectives, conditions] =
        await Promise.all([
          call(getPresets()),
          call(getTargets()),
          call(getWorkloads()),
          call(getStrategies()),
          call(getObjectives()),
          call(getSecondObjectives()),
          call(getConditions()),
        ]);
      return { presets, targets, workloads, strategies, objectives, secondObjectives, conditions };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}
