// Browser tests: Debian's Chromium against the real daemon, which tunes the real server under real load.
//
// The daemon gets a directory of its own in test-results/ that is made anew for every run of the tests. One
// worker and a fixed order: a host has one tuning run at a time. The first run goes before the rest, which look at
// what it leaves; what needs no run is quicker alone: `npx playwright test --no-deps e2e/pages.spec.ts`.

import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { defineConfig } from '@playwright/test';

const PORT = Number(process.env.TRIMTAB_E2E_PORT ?? 8097);
// Workers load this file again: only the first load empties the directory.
if (process.env.TRIMTAB_E2E_VAR === undefined) {
  process.env.TRIMTAB_E2E_VAR = resolve(import.meta.dirname, 'test-results/var');
  rmSync(process.env.TRIMTAB_E2E_VAR, { recursive: true, force: true });
  // Not the machine's own: whoever tunes here meanwhile is not in the way of the tests.
  process.env.TRIMTAB_LOCK = resolve(import.meta.dirname, 'test-results/machine.lock');
}

export default defineConfig({
  testDir: './e2e',
  outputDir: './test-results/traces',
  workers: 1,
  fullyParallel: false,
  forbidOnly: true,
  timeout: 240_000,
  expect: { timeout: 30_000 },
  reporter: [['list']],
  use: {
    baseURL: `http://127.0.0.1:${PORT}`,
    viewport: { width: 1360, height: 900 },
    actionTimeout: 45_000,
    trace: 'retain-on-failure',
    launchOptions: {
      executablePath: process.env.TRIMTAB_CHROMIUM ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
  },
  projects: [
    { name: 'first run', testMatch: 'first-run.spec.ts' },
    { name: 'rest', testIgnore: 'first-run.spec.ts', dependencies: ['first run'] },
  ],
  webServer: {
    command: `../.venv/bin/trimtab up --port ${PORT} --var ${process.env.TRIMTAB_E2E_VAR}`,
    url: `http://127.0.0.1:${PORT}/api/v1/health`,
    reuseExistingServer: false,
    gracefulShutdown: { signal: 'SIGTERM', timeout: 10_000 },
    timeout: 60_000,
  },
});
