// The best of each architecture, as bars to draw. Pure.

import type { ArchitectureBest, RunComparison } from '../../api/generated';
import type { NamedValue } from '../../charts/BarChart';

interface Bars {
  /** The workload, and the host where there are several. */
  title: string;
  bars: NamedValue[];
  /** The highest of them: what other workloads or hosts reach is no measure for these. */
  max: number;
}

/**
 * The bars of each workload on each host, the highest first; the run is named where two have the same architecture.
 */
export function barsOf({
  runs,
  architectures,
}: Pick<RunComparison, 'architectures'> & { runs: readonly { id: number; host: string }[] }): Bars[] {
  const hostOf = new Map(runs.map(({ id, host }) => [id, host]));
  const several = new Set(hostOf.values()).size > 1;
  const titleOf = ({ workload, run_id }: ArchitectureBest) =>
    several ? `${workload} on ${hostOf.get(run_id)}` : workload;
  return [...new Set(architectures.map(titleOf))].map((title) => {
    const own = architectures.filter((best) => titleOf(best) === title);
    const sorted = own.toSorted((a, b) => b.peak_mbps - a.peak_mbps);
    return {
      title,
      bars: sorted.map(({ architecture, run_id, peak_mbps }) => {
        const shared = own.filter((other) => other.architecture === architecture).length > 1;
        return { name: shared ? `${architecture}, run ${run_id}` : architecture, value: peak_mbps };
      }),
      max: sorted[0]?.peak_mbps ?? 0,
    };
  });
}
