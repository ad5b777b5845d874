// Browser tests: Debian's Chromium against the real daemon.
//
// Each file of tests has a daemon of its own. Mostly that is a demo with the runs of e2e/seeds.ts in it: what is about
// deciding, showing and keeping is tested on simulated measurements, and that is the gate (`npm run e2e`). What starts
// a server or measures is tagged `@live` (`npm run e2e:live`), and runs alone.
//
// Two files at a time, for two CPUs; the tests of one in their order, as a daemon has one tuning run at a time.

import { resolve } from 'node:path';
import { defineConfig } from '@playwright/test';

// Not the machine's own: whoever tunes here meanwhile is not in the way of the tests.
process.env.TRIMTAB_LOCK = resolve(import.meta.dirname, 'test-results/machine.lock');

export default defineConfig({
  testDir: './e2e',
  globalSetup: './e2e/seeds.ts',
  outputDir: './test-results/traces',
  workers: 2,
  fullyParallel: false,
  forbidOnly: true,
  // Bounds and not measures: on a busy machine everything takes long.
  timeout: 600_000,
  expect: { timeout: 60_000 },
  reporter: [['list'], ['junit', { outputFile: '../.build/junit/browser.xml' }]],
  use: {
    viewport: { width: 1360, height: 900 },
    actionTimeout: 60_000,
    // What the page was at each step, without a film of it.
    trace: { mode: 'retain-on-failure', screenshots: false },
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
});
