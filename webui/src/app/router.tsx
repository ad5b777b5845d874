// Addresses of the pages. Each page but the first is loaded when it is first asked for.

import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { runQuery } from '../hooks/useRun';
import { trialsQuery } from '../hooks/useTrials';
import { type NumberListText, numberListText } from '../maths/numberList';
import { HomePage } from '../pages/home/HomePage';
import { LIVE_WINDOWS_S, type LiveWindow } from './liveWindows';
import { NotFound } from './NotFound';
import { RouteError } from './RouteError';
import { Shell } from './Shell';

interface RouterContext {
  queries: QueryClient;
}

const rootRoute = createRootRouteWithContext<RouterContext>()({
  component: Shell,
  notFoundComponent: NotFound,
});

const homeRoute = createRoute({ getParentRoute: () => rootRoute, path: '/', component: HomePage });

const liveRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/live',
  validateSearch: (search: Record<string, unknown>): { window?: LiveWindow } => {
    const window = LIVE_WINDOWS_S.find((seconds) => seconds === Number(search.window));
    return window === undefined ? {} : { window };
  },
  component: lazyRouteComponent(() => import('../pages/live/LivePage'), 'LivePage'),
});

const tuneRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/tune',
  component: lazyRouteComponent(() => import('../pages/tune/TunePage'), 'TunePage'),
});

const runsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/runs',
  validateSearch: (search: Record<string, unknown>): { page?: number } => {
    const page = Number(search.page);
    return Number.isInteger(page) && page > 1 ? { page } : {};
  },
  component: lazyRouteComponent(() => import('../pages/runs/RunsPage'), 'RunsPage'),
});

/**
 * What of a run is looked at: trials (`3`, or `3,7` for several), the knobs on the axes of the heat map, the knob
 * that has a map for each of its values, the level of the search, and the filter of the trials.
 */
export interface RunSearch {
  trial?: NumberListText;
  x?: string;
  y?: string;
  by?: string;
  level?: number;
  filter?: string;
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** The list of numbers called `name`, where there is one. */
function listIn<Name extends string>(search: Record<string, unknown>, name: Name) {
  const list = numberListText(search[name]);
  return (list === undefined ? {} : { [name]: list }) as { [Key in Name]?: NumberListText };
}

const runId = (text: string): number => {
  const id = Number(text);
  if (!Number.isInteger(id) || id < 1) throw redirect({ to: '/runs' });
  return id;
};

const runRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/runs/$id',
  params: { parse: ({ id }) => ({ id: runId(id) }), stringify: ({ id }) => ({ id: String(id) }) },
  validateSearch: (search: Record<string, unknown>): RunSearch => ({
    ...listIn(search, 'trial'),
    ...Object.fromEntries(
      (['x', 'y', 'by', 'filter'] as const).flatMap((name) => {
        const value = text(search[name]);
        return value === undefined ? [] : [[name, value]];
      }),
    ),
    ...(Number.isInteger(search.level) ? { level: Number(search.level) } : {}),
  }),
  // Asked for while the page itself is being loaded.
  loader: ({ cause, context: { queries }, params: { id } }) => {
    if (cause !== 'enter') return;
    void queries.prefetchQuery(runQuery(id));
    void queries.prefetchQuery(trialsQuery(queries, id));
  },
  component: lazyRouteComponent(() => import('../pages/run/RunPage'), 'RunPage'),
});

const trialRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/runs/$id/trials/$number',
  params: {
    parse: ({ id, number }) => ({ id: runId(id), number: runId(number) }),
    stringify: ({ id, number }) => ({ id: String(id), number: String(number) }),
  },
  validateSearch: (search: Record<string, unknown>): { rate?: number } => {
    const rate = Number(search.rate);
    return Number.isInteger(rate) && rate >= 1 ? { rate } : {};
  },
  component: lazyRouteComponent(() => import('../pages/trial/TrialPage'), 'TrialPage'),
});

const exportRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/runs/$id/export',
  params: { parse: ({ id }) => ({ id: runId(id) }), stringify: ({ id }) => ({ id: String(id) }) },
  component: lazyRouteComponent(() => import('../pages/export/ExportPage'), 'ExportPage'),
});

/** `3,7`: the runs that are compared; `all`: also what does not differ. */
const compareRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/compare',
  validateSearch: (search: Record<string, unknown>): { runs?: NumberListText; all?: boolean } => ({
    ...listIn(search, 'runs'),
    ...(search.all === true ? { all: true } : {}),
  }),
  component: lazyRouteComponent(() => import('../pages/compare/ComparePage'), 'ComparePage'),
});

const hostRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/host',
  component: lazyRouteComponent(() => import('../pages/host/HostPage'), 'HostPage'),
});

const routeTree = rootRoute.addChildren([
  homeRoute,
  liveRoute,
  tuneRoute,
  runsRoute,
  runRoute,
  trialRoute,
  exportRoute,
  compareRoute,
  hostRoute,
]);

export const router = createRouter({
  routeTree,
  context: { queries: undefined as unknown as QueryClient }, // comes with RouterProvider
  defaultErrorComponent: RouteError,
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
