// Browser tests: Debian's Chromium against the real daemon.
//
// The daemon is a demo in a directory of its own in test-results/, which is made anew for every run of the tests, with
// the runs of e2e/seeds.ts in it: what is about deciding, showing and keeping is tested on simulated measurements,
// and that is the gate (`npm run e2e`). What starts a server or measures is tagged `@live` (`npm run e2e:live`), and
// has daemons of its own. One worker and a fixed order: a host has one tuning run at a time.

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
  globalSetup: './e2e/seeds.ts',
  outputDir: './test-results/traces',
  workers: 1,
  fullyParallel: false,
  forbidOnly: true,
  // Bounds and not measures: on a busy machine everything takes long.
  timeout: 600_000,
  expect: { timeout: 60_000 },
  reporter: [['list'], ['junit', { outputFile: '../.build/junit/browser.xml' }]],
  use: {
    baseURL: `http://127.0.0.1:${PORT}`,
    viewport: { width: 1360, height: 900 },
    actionTimeout: 60_000,
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
  webServer: {
    command: `../.venv/bin/trimtab up --demo --port ${PORT} --var ${process.env.TRIMTAB_E2E_VAR}`,
    url: `http://127.0.0.1:${PORT}/api/v1/health`,
    reuseExistingServer: false,
    gracefulShutdown: { signal: 'SIGTERM', timeout: 10_000 },
    timeout: 180_000,
  },
});
