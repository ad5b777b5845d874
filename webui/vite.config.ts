import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';
import { firstLoad } from './firstLoad.ts';
import { mantineVariables } from './mantineVariables.ts';

export default defineConfig({
  plugins: [react(), mantineVariables(), firstLoad()],
  build: {
    // Nothing becomes a data: URL, so the daemon's Content-Security-Policy can stay at 'self'.
    assetsInlineLimit: 0,
    target: 'es2023',
    chunkSizeWarningLimit: 700,
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8080' } },
  test: {
    // All files of a project share a process, its modules and its DOM: to load all of them anew for each file takes
    // more time than the tests. What a test has changed is put back after it, here and in setup.ts.
    isolate: false,
    unstubGlobals: true,
    // Only components need a DOM; making one takes longer than most tests.
    projects: [
      { extends: true, test: { name: 'pure', environment: 'node', include: ['src/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          name: 'components',
          environment: 'jsdom',
          include: ['src/**/*.test.tsx'],
          setupFiles: ['src/test/setup.ts'],
          alias: { 'react-chartjs-2': fileURLToPath(new URL('src/test/noCharts.tsx', import.meta.url)) },
        },
      },
    ],
    css: false,
    // Bounds and not measures: on a busy machine a component's first render takes seconds.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    restoreMocks: true,
  },
});
