// The best of each architecture under each workload, as bars to draw. Pure.

import type { ArchitectureBest } from '../../api/generated';
import type { NamedValue } from '../../charts/BarChart';

/** The bars of each workload, the highest first; the run is named where two have the same architecture. */
export function barsByWorkload(architectures: readonly ArchitectureBest[]): [string, NamedValue[]][] {
  const workloads = [...new Set(architectures.map(({ workload }) => workload))];
  return workloads.map((workload) => {
    const own = architectures.filter((best) => best.workload === workload);
    return [
      workload,
      own
        .toSorted((a, b) => b.peak_mbps - a.peak_mbps)
        .map(({ architecture, run_id, peak_mbps }) => {
          const shared = own.filter((other) => other.architecture === architecture).length > 1;
          return { name: shared ? `${architecture}, run ${run_id}` : architecture, value: peak_mbps };
        }),
    ];
  });
}
