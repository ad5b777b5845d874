import { useQuery } from '@tanstack/react-query';
import { analyseOptions } from '../../api/generated/@tanstack/react-query.gen';

/** While a run goes on, what is understood of it is worked out anew no more often than this, in ms. */
const RUNNING_MS = 30_000;

/** Which knobs mattered, how stable the best is, and what its counters say. Asked for after the trials are there. */
export function useAnalysis(id: number, { running, enabled }: { running: boolean; enabled: boolean }) {
  return useQuery({
    ...analyseOptions({ path: { run_id: id } }),
    enabled,
    refetchInterval: running ? RUNNING_MS : false,
    retry: false,
  });
}
