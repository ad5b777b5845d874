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

// What an address says and a page does not understand is named here as undefined: left out, it would reach the page.

const wholeFrom = (least: number, value: unknown): number | undefined =>
  Number.isInteger(Number(value)) && Number(value) >= least ? Number(value) : undefined;

const rootRoute = createRootRouteWithContext<RouterContext>()({
  component: Shell,
  notFoundComponent: NotFound,
});

const homeRoute = createRoute({ getParentRoute: () => rootRoute, path: '/', component: HomePage });

const liveRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/live',
  validateSearch: (search: Record<string, unknown>): { window?: LiveWindow | undefined } => ({
    window: LIVE_WINDOWS_S.find((seconds) => seconds === Number(search.window)),
  }),
  component: lazyRouteComponent(() => import('../pages/live/LivePage'), 'LivePage'),
});

const tuneRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/tune',
  // The run whose settings the form begins with.
  validateSearch: (search: Record<string, unknown>): { like?: number | undefined } => ({
    like: wholeFrom(1, search.like),
  }),
  component: lazyRouteComponent(() => import('../pages/tune/TunePage'), 'TunePage'),
});

const runsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/runs',
  validateSearch: (
    search: Record<string, unknown>,
  ): { page?: number | undefined; archived?: boolean | undefined } => ({
    page: wholeFrom(2, search.page),
    archived: search.archived === true || undefined,
  }),
  component: lazyRouteComponent(() => import('../pages/runs/RunsPage'), 'RunsPage'),
});

/**
 * What of a run is looked at: trials (`3`, or `3,7` for several), the knobs on the axes of the heat map, the knob
 * that has a map for each of its values, the level of the search, and the filter and the order of the trials.
 */
export interface RunSearch {
  trial?: NumberListText;
  x?: string | undefined;
  y?: string | undefined;
  by?: string | undefined;
  level?: number | undefined;
  filter?: string | undefined;
  sort?: string | undefined;
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

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
    trial: numberListText(search.trial),
    x: text(search.x),
    y: text(search.y),
    by: text(search.by),
    level: wholeFrom(1, search.level),
    filter: text(search.filter),
    sort: text(search.sort),
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
  validateSearch: (search: Record<string, unknown>): { rate?: number | undefined } => ({
    rate: wholeFrom(1, search.rate),
  }),
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
  validateSearch: (
    search: Record<string, unknown>,
  ): { runs?: NumberListText; all?: boolean | undefined } => ({
    runs: numberListText(search.runs),
    all: search.all === true || undefined,
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
