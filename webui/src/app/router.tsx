// Addresses of the pages. Each page but the first is loaded when it is first asked for.

import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { getRunOptions } from '../api/generated/@tanstack/react-query.gen';
import { trialsQuery } from '../api/useTrials';
import { HomePage } from '../features/home/HomePage';
import { LIVE_WINDOWS_S, type LiveWindow } from '../features/live/windows';
import { runSearch } from '../features/run/runSearch';
import { type RunListSearch, runListSearch } from '../features/runs/runList';
import { type NumberListText, numberListText, wholeFrom } from '../maths/numberList';
import { NotFound } from './NotFound';
import { RouteError } from './RouteError';
import { Shell } from './Shell';

interface RouterContext {
  queries: QueryClient;
}

// What an address says and a page does not understand is named here as undefined: left out, it would reach the page.

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
  component: lazyRouteComponent(() => import('../features/live/LivePage'), 'LivePage'),
});

const liveTuningRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/live-tuning',
  component: lazyRouteComponent(() => import('../features/live-tuning/LiveTuningPage'), 'LiveTuningPage'),
});

const fleetRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/fleet',
  component: lazyRouteComponent(() => import('../features/fleet/FleetPage'), 'FleetPage'),
});

const liveSessionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/live-tuning/$id',
  params: {
    parse: ({ id }) => {
      const number = Number(id);
      if (!Number.isInteger(number) || number < 1) throw redirect({ to: '/live-tuning' });
      return { id: number };
    },
    stringify: ({ id }) => ({ id: String(id) }),
  },
  component: lazyRouteComponent(() => import('../features/live-tuning/SessionPage'), 'SessionPage'),
});

const tuneRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/tune',
  // What the form begins with: the settings of a run, or a server with what its own file sets or that file itself.
  validateSearch: (
    search: Record<string, unknown>,
  ): { like?: number | undefined; target?: string | undefined; base?: string | undefined } => ({
    like: wholeFrom(1, search.like),
    target: typeof search.target === 'string' ? search.target : undefined,
    base: typeof search.base === 'string' ? search.base : undefined,
  }),
  component: lazyRouteComponent(() => import('../features/tune/TunePage'), 'TunePage'),
});

const runsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/runs',
  validateSearch: (search: Record<string, unknown>): RunListSearch => ({
    page: wholeFrom(2, search.page),
    ...runListSearch(search),
  }),
  component: lazyRouteComponent(() => import('../features/runs/RunsPage'), 'RunsPage'),
});

const runId = (text: string): number => {
  const id = Number(text);
  if (!Number.isInteger(id) || id < 1) throw redirect({ to: '/runs' });
  return id;
};

const runRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/runs/$id',
  params: { parse: ({ id }) => ({ id: runId(id) }), stringify: ({ id }) => ({ id: String(id) }) },
  validateSearch: runSearch,
  // Asked for while the page itself is being loaded.
  loader: ({ cause, context: { queries }, params: { id } }) => {
    if (cause !== 'enter') return;
    void queries.prefetchQuery(getRunOptions({ path: { run_id: id } }));
    void queries.prefetchQuery(trialsQuery(queries, id));
  },
  component: lazyRouteComponent(() => import('../features/run/RunPage'), 'RunPage'),
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
  component: lazyRouteComponent(() => import('../features/trial/TrialPage'), 'TrialPage'),
});

const exportRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/runs/$id/export',
  params: { parse: ({ id }) => ({ id: runId(id) }), stringify: ({ id }) => ({ id: String(id) }) },
  component: lazyRouteComponent(() => import('../features/export/ExportPage'), 'ExportPage'),
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
  component: lazyRouteComponent(() => import('../features/compare/ComparePage'), 'ComparePage'),
});

const hostRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/host',
  component: lazyRouteComponent(() => import('../features/host/HostPage'), 'HostPage'),
});

const glossaryRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/glossary',
  component: lazyRouteComponent(() => import('../features/glossary/GlossaryPage'), 'GlossaryPage'),
});

const routeTree = rootRoute.addChildren([
  homeRoute,
  liveRoute,
  liveTuningRoute,
  liveSessionRoute,
  fleetRoute,
  tuneRoute,
  runsRoute,
  runRoute,
  trialRoute,
  exportRoute,
  compareRoute,
  hostRoute,
  glossaryRoute,
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
