// Lists of CPUs as people write them. Pure.

/** `[0, 1, 2, 5]` → `0–2, 5`. */
export function cpuRanges(cpus: readonly number[]): string {
  const sorted = [...cpus].sort((a, b) => a - b);
  const runs: [number, number][] = [];
  for (const cpu of sorted) {
    const last = runs.at(-1);
    if (last && cpu === last[1] + 1) last[1] = cpu;
    else runs.push([cpu, cpu]);
  }
  return runs.map(([low, high]) => (low === high ? `${low}` : `${low}–${high}`)).join(', ');
}

/** Groups in ascending order of their number. */
export function groupBy<T>(rows: readonly T[], key: (row: T) => number): [number, T[]][] {
  const groups = new Map<number, T[]>();
  for (const row of rows) {
    const own = groups.get(key(row));
    if (own) own.push(row);
    else groups.set(key(row), [row]);
  }
  return [...groups].sort(([a], [b]) => a - b);
}
