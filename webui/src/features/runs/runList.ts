// The list of runs: what is looked for in it, and by what it is sorted. Pure.

import type { RunSummary } from '../../api/generated';
import type { RunColumn } from '../../components/RunTable';

/** What an address says of the list; everything may be left out. */
export interface RunListSearch {
  page?: number | undefined;
  archived?: boolean | undefined;
  /** Words that all occur in a run's number, name, notes, tags, server, workload, preset or state. */
  text?: string | undefined;
  tag?: string | undefined;
  state?: string | undefined;
  target?: string | undefined;
  /** A column, after `-` where it descends; the newest run first when left out. */
  sort?: string | undefined;
}

export const NEWEST_FIRST = '-run';

const durationOf = ({ started_at, finished_at }: RunSummary): number | null =>
  finished_at === null ? null : Date.parse(finished_at) - Date.parse(started_at);

const ORDERS: Record<RunColumn, (run: RunSummary) => number | string | null> = {
  run: ({ id }) => id,
  target: ({ target, workload, preset }) => `${target} ${workload} ${preset}`,
  state: ({ state }) => state,
  trials: ({ trials }) => trials,
  capacity: ({ capacity_rps }) => capacity_rps,
  gain: ({ capacity_gain }) => capacity_gain?.gain ?? null,
  score: ({ best_score }) => best_score,
  started: ({ created_at }) => created_at,
  took: durationOf,
};

const words = (run: RunSummary): string =>
  [run.id, `run ${run.id}`, run.name, run.notes, ...run.tags, run.target, run.workload, run.preset, run.state]
    .join(' ')
    .toLowerCase();

/** The runs that are looked for, in the order that is asked for; those without a value come last either way. */
export function listed(runs: readonly RunSummary[], search: RunListSearch): RunSummary[] {
  const wanted = (search.text ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  const kept = runs.filter((run) => {
    const text = words(run);
    return (
      wanted.every((word) => text.includes(word)) &&
      (search.tag === undefined || run.tags.includes(search.tag)) &&
      (search.state === undefined || run.state === search.state) &&
      (search.target === undefined || run.target === search.target)
    );
  });
  const sort = search.sort ?? NEWEST_FIRST;
  const order = ORDERS[sort.replace(/^-/, '') as RunColumn] ?? ORDERS.run;
  const sign = sort.startsWith('-') ? -1 : 1;
  return kept.toSorted((a, b) => {
    const [one, other] = [order(a), order(b)];
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return sign * (one < other ? -1 : one > other ? 1 : a.id - b.id);
  });
}

/** What an address says of the list, without what it does not understand. */
export function runListSearch(search: Record<string, unknown>): Omit<RunListSearch, 'page'> {
  const text = (value: unknown) =>
    value === undefined || value === null || value === '' ? undefined : String(value);
  const sort = text(search.sort);
  return {
    archived: search.archived === true || undefined,
    text: text(search.text),
    tag: text(search.tag),
    state: text(search.state),
    target: text(search.target),
    sort: sort !== undefined && Object.hasOwn(ORDERS, sort.replace(/^-/, '')) ? sort : undefined,
  };
}
