// The names under which TanStack Query keeps the API's answers; the live stream updates them by the same names.

export const keys = {
  host: ['host'] as const,
  catalogue: ['catalogue'] as const,
  targets: ['targets'] as const,
  space: (target: string) => ['space', target] as const,
  estimate: (body: unknown) => ['estimate', body] as const,
  runLists: ['runs'] as const,
  runs: (limit: number, offset: number, archived: boolean) => ['runs', limit, offset, archived] as const,
  run: (id: number) => ['run', id] as const,
  trials: (id: number) => ['run', id, 'trials'] as const,
  trial: (id: number, number: number) => ['run', id, 'trial', number] as const,
  trialCounters: (id: number, number: number) => ['run', id, 'trial', number, 'counters'] as const,
  events: (id: number) => ['run', id, 'events'] as const,
  exports: (id: number) => ['run', id, 'exports'] as const,
  counters: (seconds: number) => ['counters', seconds] as const,
  /** Not under `run`, which every recorded trial makes stale. */
  analysis: (id: number) => ['analysis', id] as const,
  compare: (runs: readonly number[]) => ['compare', ...runs] as const,
  hostState: ['host-state'] as const,
  topology: ['host-state', 'topology'] as const,
  affinity: ['host-state', 'affinity'] as const,
  measuredPlans: ['measured-plans'] as const,
  plan: (request: unknown) => ['host-state', 'plan', request] as const,
  progress: ['progress'] as const,
  ladderSoFar: ['ladder-so-far'] as const,
};
