// Retakes the pictures of the docs, in docs/images, from a daemon that has two finished runs: each in the light theme,
// and as NAME-dark.png in the dark one.
//
//   node e2e/pictures.mjs http://127.0.0.1:8080 RUN OTHER TRIAL [SESSION]
//
// RUN: the run that is shown; OTHER: the one it is compared with; TRIAL: a trial of RUN; SESSION: a session of live
// tuning, without which that page is left out. The Live page shows the last quarter of an hour, so it is best taken
// soon after a run.

import { resolve } from 'node:path';
import { chromium } from '@playwright/test';

const [url, run, other, trial, session] = process.argv.slice(2);
if (trial === undefined) throw new Error('expected: node e2e/pictures.mjs URL RUN OTHER TRIAL [SESSION]');
const IMAGES = resolve(import.meta.dirname, '../../docs/images');
const PICTURES = [
  { name: 'home', path: '/', width: 1280, height: 900 },
  { name: 'tune', path: '/tune', width: 1280, height: 900 },
  { name: 'run', path: `/runs/${run}`, width: 1280, height: 1300 },
  { name: 'trial', path: `/runs/${run}/trials/${trial}`, width: 1280, height: 1250 },
  { name: 'export', path: `/runs/${run}/export`, width: 1280, height: 900 },
  { name: 'live', path: '/live?window=900', width: 1280, height: 1250 },
  { name: 'host', path: '/host', width: 1280, height: 900 },
  { name: 'compare', path: `/compare?runs=${run},${other}`, width: 1440, height: 900 },
  { name: 'runs', path: '/runs', width: 1280, height: 900 },
  ...(session ? [{ name: 'live-tuning', path: `/live-tuning/${session}`, width: 1280, height: 1400 }] : []),
];

const browser = await chromium.launch({
  executablePath: process.env.TRIMTAB_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
});
for (const { name, path, width, height } of PICTURES) {
  for (const colorScheme of ['light', 'dark']) {
    // Without motion nothing is caught halfway.
    const page = await browser.newPage({ viewport: { width, height }, reducedMotion: 'reduce', colorScheme });
    await page.goto(url + path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.locator('h2').first().waitFor();
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.waitForFunction(() => document.querySelector('[aria-busy=true]') === null);
    await page.evaluate(() => document.fonts.ready);
    // Charts take turns at being made while the page is idle.
    for (let turn = 0; turn < 40; turn += 1) {
      await page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)));
    }
    await page.screenshot({ path: `${IMAGES}/${name}${colorScheme === 'dark' ? '-dark' : ''}.png` });
    await page.close();
  }
}
await browser.close();
