// Makes the typed client in src/api/generated from openapi.json, which the agent's tests keep equal to the API, with
// the options of TanStack Query for each request: its key, its function with the signal to abort it.
import { defineConfig } from '@hey-api/openapi-ts';

/** Requests with a body that only ask: they touch nothing, and their answers are kept like those of a GET. */
const ASKING = ['estimate', 'told', 'checked']
  .map((asked) => `/api/v1/runs/${asked}`)
  .concat('/api/v1/affinity/plan');

export default defineConfig({
  input: './openapi.json',
  output: { path: './src/api/generated' },
  parser: {
    hooks: { operations: { getKind: ({ path }) => (ASKING.includes(path) ? ['query'] : undefined) } },
    // Whatever is no success becomes an ApiError (src/api/errors.ts), not the body of the reply.
    patch: {
      operations: (_method, _path, operation) => {
        for (const status of Object.keys(operation.responses ?? {})) {
          if (!status.startsWith('2')) delete operation.responses?.[status];
        }
      },
    },
  },
  plugins: [
    '@hey-api/typescript',
    { name: '@hey-api/sdk', responseStyle: 'data' },
    { name: '@hey-api/client-fetch', throwOnError: true },
    { name: '@tanstack/react-query', infiniteQueryOptions: false },
  ],
});
