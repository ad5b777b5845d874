// Times the web UI in Chromium: the Run page with a large run, and the redrawing of the Live page's charts. Weighs
// what the first page loads.
//
//   node bench/timings.mjs http://127.0.0.1:8080 RUN
//
// prints one JSON document. `bench/report.py` prepares the daemon and tells the numbers.

import { gzipSync } from 'node:zlib';
import { chromium } from '@playwright/test';

const [base, run] = process.argv.slice(2);
const LOADS = 5;
const LIVE_MS = 15_000;

const browser = await chromium.launch({
  executablePath: process.env.TRIMTAB_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});

/** Bytes of the scripts and styles that the first page loads, each compressed by gzip. */
async function firstLoad() {
  const page = await browser.newPage();
  await page.goto(base);
  await page.getByRole('button', { name: /^Tune \w+$/ }).waitFor();
  const files = await page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .map(({ name }) => name)
      .filter((name) => /\.(js|css)$/.test(name)),
  );
  await page.close();
  const sizes = await Promise.all(
    files.map(async (file) => gzipSync(Buffer.from(await (await fetch(file)).arrayBuffer())).length),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Milliseconds from the navigation until the table of trials takes a click and shows what it did. */
async function runInteractive() {
  const page = await browser.newPage();
  await page.goto(`${base}/runs`);
  const begin = Date.now();
  await page.goto(`${base}/runs/${run}`);
  const button = page.getByRole('button', { name: /^Show the curve of trial/ }).first();
  await button.click();
  // The row itself may leave the table's window as later trials arrive; the choice stays in the address.
  await page.waitForURL(/trial=/, { waitUntil: 'commit' });
  const interactive = Date.now() - begin;
  await page.close();
  return interactive;
}

/** Milliseconds of script that each redrawn chart takes, over some seconds of the Live page. */
async function liveUpdate() {
  const page = await browser.newPage();
  await page.addInitScript(() => {
    globalThis.draws = 0;
    const { clearRect } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.clearRect = function counted(...box) {
      globalThis.draws += 1;
      return clearRect.apply(this, box);
    };
  });
  await page.goto(`${base}/live?window=300`);
  await page.getByRole('img', { name: /^Use of CPU 0/ }).waitFor();
  await page.waitForTimeout(3000);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const read = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    const value = (name) => metrics.find((metric) => metric.name === name).value;
    return { script_s: value('ScriptDuration'), draws: await page.evaluate(() => globalThis.draws) };
  };
  const before = await read();
  await page.waitForTimeout(LIVE_MS);
  const after = await read();
  await page.close();
  return { draws: after.draws - before.draws, script_ms: 1000 * (after.script_s - before.script_s) };
}

const first_load_bytes = await firstLoad();
const interactive_ms = [];
for (let load = 0; load < LOADS; load += 1) interactive_ms.push(await runInteractive());
const live = await liveUpdate();
await browser.close();
process.stdout.write(`${JSON.stringify({ first_load_bytes, interactive_ms, live })}\n`);
