import { useQuery } from '@tanstack/react-query';
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
  type WorkloadReply,
} from '../../api/generated';

export interface Catalogue {
  presets: Preset[];
  targets: TargetReply[];
  workloads: WorkloadReply[];
  strategies: Named[];
  objectives: Named[];
  secondObjectives: Named[];
  conditions: ConditionsReply;
}

/** The workloads for a target: those that speak its protocol. */
export function workloadsFor({ targets, workloads }: Catalogue, target: string): WorkloadReply[] {
  const speaks = targets.find(({ name }) => name === target)?.protocol;
  return workloads.filter(({ protocol }) => protocol === speaks);
}

/** The workload to begin with for a target: the one that was chosen, if it suits it. */
export function workloadFor(catalogue: Catalogue, target: string, chosen: string): string {
  const suits = workloadsFor(catalogue, target).some(({ name }) => name === chosen);
  return suits ? chosen : (catalogue.targets.find(({ name }) => name === target)?.workload ?? '');
}

/** Everything that can be chosen for a run apart from the knobs; it does not change while the daemon runs. */
export function useCatalogue() {
  return useQuery({
    queryKey: ['catalogue'],
    queryFn: async ({ signal }): Promise<Catalogue> => {
      const [presets, targets, workloads, strategies, objectives, secondObjectives, conditions] =
        await Promise.all([
          getPresets({ signal }),
          getTargets({ signal }),
          getWorkloads({ signal }),
          getStrategies({ signal }),
          getObjectives({ signal }),
          getSecondObjectives({ signal }),
          getConditions({ signal }),
        ]);
      return { presets, targets, workloads, strategies, objectives, secondObjectives, conditions };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}
