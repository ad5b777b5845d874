// What the live stream alone tells of the run that is going on; nothing is asked for.

import { useQuery } from '@tanstack/react-query';
import type { MeasurementLine, Progress } from './generated';
import { ladderSoFarKey, progressKey } from './keys';

/** The rates already measured of the trial that is under way. */
export interface LadderSoFar {
  run_id: number;
  trial: number;
  measurements: MeasurementLine[];
}

function useTold<T>(queryKey: readonly string[]): T | null {
  const { data } = useQuery<T | null>({ queryKey, queryFn: () => null, enabled: false, initialData: null });
  return data;
}

/** How far the run that is going on has come; null when none is. */
export const useProgress = () => useTold<Progress>(progressKey);

/** The rates already measured of the trial under way in this run; null when none is. */
export function useLadderSoFar(runId: number): LadderSoFar | null {
  const told = useTold<LadderSoFar>(ladderSoFarKey);
  return told?.run_id === runId ? told : null;
}
