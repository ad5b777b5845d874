// Puts the pieces that every page needs round the router: theme, cache, live stream, token form.

import { MantineProvider } from '@mantine/core';
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { useState } from 'react';
import { ActionsProvider } from '../actions/ActionsProvider';
import { ApiError } from '../api/errors';
import { LiveProvider } from '../stream/LiveProvider';
import { DemoBanner } from './DemoBanner';
import { router } from './router';
import { TokenForm } from './TokenForm';
import { theme } from './theme';

const isTokenMissing = (error: unknown) => error instanceof ApiError && error.status === 401;

function makeQueryClient(onTokenMissing: () => void): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({ onError: (error) => isTokenMissing(error) && onTokenMissing() }),
    defaultOptions: {
      queries: {
        // The live stream says when something has changed; asking again on every focus would only repeat it.
        staleTime: 30_000,
        refetchOnWindowFocus: false,
        networkMode: 'always',
        retry: (failures, error) =>
          failures < 2 && !(error instanceof ApiError && error.status in { 401: 1, 404: 1, 422: 1 }),
      },
      mutations: { networkMode: 'always' },
    },
  });
}

export function App() {
  const [tokenMissing, setTokenMissing] = useState(false);
  const [client] = useState(() => makeQueryClient(() => setTokenMissing(true)));
  return (
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <QueryClientProvider client={client}>
        {tokenMissing ? (
          <>
            <DemoBanner />
            <TokenForm onAccepted={() => setTokenMissing(false)} />
          </>
        ) : (
          <LiveProvider>
            <ActionsProvider>
              <RouterProvider router={router} context={{ queries: client }} />
            </ActionsProvider>
          </LiveProvider>
        )}
      </QueryClientProvider>
    </MantineProvider>
  );
}
