// Renders a component inside what every page has: theme, cache, router. Requests meet `api`, an msw server.

import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { render, screen } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { setupServer } from 'msw/node';
import type { ReactNode } from 'react';
import { theme } from '../app/theme';

export const url = (path: string) => `${window.location.origin}/api/v1${path}`;

/** Knows one answer of its own, as whoever sets up a run asks for it: there is no fleet. */
export const api = setupServer(
  http.get(url('/fleet'), () => HttpResponse.json({ scheduler: '', complaint: '', stations: [] })),
);

/** Renders and waits for the router's first draw; other addresses show which page they are of, or `TrialPage`. */
export async function renderInApp(
  ui: ReactNode,
  client = new QueryClient({ defaultOptions: { queries: { retry: false } } }),
  TrialPage: () => ReactNode = () => <p>trial page</p>,
) {
  const root = createRootRoute();
  const here = createRoute({
    getParentRoute: () => root,
    path: '/',
    component: () => (
      <div id="content" data-testid="app">
        {ui}
      </div>
    ),
  });
  const elsewhere = createRoute({
    getParentRoute: () => root,
    path: '/runs/$id',
    component: () => <p>run page</p>,
  });
  const trial = createRoute({
    getParentRoute: () => root,
    path: '/runs/$id/trials/$number',
    component: TrialPage,
  });
  const tune = createRoute({
    getParentRoute: () => root,
    path: '/tune',
    component: () => <p>tune page</p>,
  });
  const runs = createRoute({
    getParentRoute: () => root,
    path: '/runs',
    component: () => <p>list of runs</p>,
  });
  const router = createRouter({
    routeTree: root.addChildren([here, elsewhere, trial, tune, runs]),
    history: createMemoryHistory({ initialEntries: ['/'] }),
  });
  render(
    <MantineProvider theme={theme} env="test">
      <QueryClientProvider client={client}>
        <RouterProvider router={router as never} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  await screen.findByTestId('app');
  return { router, client };
}
