// What a page does when its daemon is cut off, killed, or asks who is there. With daemons of the tests' own.

import type { Page } from '@playwright/test';
import { OwnDaemon, PORT, Wire } from './daemon';
import { expect, inspect, setUpTinyRun, startRun, test } from './fixtures';
import { Scenario } from './scenario';

const LIVE = /^GET \/api\/v1\/live /;

test.describe('a page whose daemon', () => {
  const wire = new Wire(PORT + 2, PORT + 1);
  const daemon = new OwnDaemon(PORT + 1, {
    environment: { TRIMTAB_EXTRA_HOSTS: `127.0.0.1:${PORT + 2}` },
    demo: true,
  });
  const scenario = new Scenario(daemon.var);
  // A request that meets a cut wire, a request cut short.
  test.use({ baseURL: wire.url, expected: [/ERR_/] });
  test.beforeAll(async () => {
    await daemon.start();
    await wire.mend();
  });
  test.afterAll(async () => {
    await wire.cut();
    await daemon.remove();
  });

  test('cannot be reached says so, and has every sample once it can be again', async ({ page }) => {
    await page.goto('/live?window=60');
    const chart = page.getByRole('img', { name: /^Context switches/ });
    await chart.scrollIntoViewIfNeeded();
    await expect(chart).toHaveAccessibleName(/switches \d/);
    // What is stored comes at once; only what the stream brings has a number to come back with.
    const stored = await chart.getAttribute('aria-label');
    await expect.poll(() => chart.getAttribute('aria-label')).not.toBe(stored);
    await wire.cut();
    const banner = lostBanner(page);
    await expect(banner).toBeVisible();
    await expect(page.getByText('Disconnected', { exact: true })).toBeVisible();
    await inspect(page, 'disconnected');
    const before = (await sampledSeconds(daemon)).at(-1) ?? 0;
    await expect.poll(async () => (await sampledSeconds(daemon)).at(-1)).toBeGreaterThan(before + 2);
    wire.requests.length = 0;
    await wire.mend();
    await expect(banner).toHaveCount(0);
    await expect(page.getByText('Connected', { exact: true })).toBeVisible();
    expect(wire.requests.find((head) => LIVE.test(head))).toMatch(/^last-event-id: \d+/im);
    await page.getByRole('button', { name: /^Table of Context switches/ }).click();
    const table = page.getByRole('table', { name: /^Context switches/ });
    await expect(table).toBeVisible();
    const values = table.locator('tbody td:first-of-type');
    const { length } = await sampledSeconds(daemon);
    // A chart that was off screen is drawn anew once it has been scrolled to.
    await expect.poll(() => values.count()).toBeGreaterThanOrEqual(length);
    // The charts have a gap where the daemon itself has slept, and nowhere else.
    const gaps = (await values.allTextContents()).filter((value) => value === '–').length;
    expect(gaps).toBeLessThanOrEqual(await pauses(daemon));
  });

  test('is killed in the middle of a run shows the run as it is found again, and resumes it', async ({
    page,
  }) => {
    scenario.hold(6);
    await setUpTinyRun(page, 40);
    const id = await startRun(page);
    const progress = page.getByRole('progressbar', { name: /Progress of the run/ });
    const map = page.getByRole('img', { name: /^Map of scores .*: [1-9]\d* (cells|configurations)/ }).first();
    await expect(map).toBeVisible();
    await expect(page.getByRole('link', { name: 'Trial 5', exact: true }).first()).toBeVisible();
    await daemon.end('SIGKILL');
    await expect(lostBanner(page)).toBeVisible();
    await daemon.start();
    await expect(lostBanner(page)).toHaveCount(0);
    await expect(page.getByText('interrupted', { exact: true })).toBeVisible();
    await expect(page.getByText('The run was interrupted.')).toBeVisible();
    await expect(page.getByRole('main').getByRole('alert')).toHaveCount(0);
    await expect(progress).toHaveCount(0);
    await expect(page.getByRole('link', { name: new RegExp(`^Run ${id} · `) })).toHaveCount(0);
    await expect(map).toBeVisible();
    await inspect(page, 'run-interrupted');
    scenario.hold('each');
    await page.getByRole('button', { name: 'Resume' }).click();
    await expect(progress).toBeVisible();
    await page.getByRole('button', { name: 'Stop' }).click();
    await expect(page.getByText('stopped', { exact: true })).toBeVisible();
  });
});

const lostBanner = (page: Page) =>
  page.getByRole('alert').filter({ hasText: 'The connection to the daemon was lost' });

async function sampleTimes(daemon: OwnDaemon, seconds: number): Promise<number[]> {
  const response = await fetch(`${daemon.url}/api/v1/counters?seconds=${seconds}&step_s=1`);
  const samples = (await response.json()) as { values: { time: number } }[];
  return samples.map(({ values }) => values.time);
}

/** The seconds of the clock, fewer than the window of the page shows, of which the daemon has a sample. */
async function sampledSeconds(daemon: OwnDaemon): Promise<number[]> {
  return [...new Set((await sampleTimes(daemon, 50)).map(Math.floor))];
}

/** How often the daemon has taken no sample for so long that a chart shows it, in more than the page's window. */
async function pauses(daemon: OwnDaemon): Promise<number> {
  const times = await sampleTimes(daemon, 120);
  return times.filter((time, index) => index > 0 && time - (times[index - 1] as number) > 3).length;
}

test.describe('a daemon that asks for a token', () => {
  const daemon = new OwnDaemon(PORT + 3, {
    environment: { TRIMTAB_TOKEN: 'a-token-for-a-browser-test' },
    demo: true,
  });
  // A stream that meets a killed daemon is a request that fails.
  test.use({ baseURL: daemon.url, expected: [/status of 401|ERR_/] });
  test.beforeAll(() => daemon.start());
  test.afterAll(() => daemon.remove());

  test('refuses a wrong one in words, and opens the page that was asked for with the right one', async ({
    page,
  }) => {
    await page.goto('/host');
    await page.getByLabel('Token', { exact: true }).fill('a-token-that-is-wrong');
    await page.keyboard.press('Enter');
    await expect(page.getByText(/not this daemon/)).toBeVisible();
    await expect(page.getByRole('complementary', { name: 'Demo' })).toBeVisible();
    await inspect(page, 'token');
    await page.getByLabel('Token', { exact: true }).fill('a-token-for-a-browser-test');
    await page.keyboard.press('Enter');
    await expect(page.getByRole('heading', { name: 'Topology' })).toBeVisible();
    await page.reload();
    await expect(page.getByRole('heading', { name: 'Topology' })).toBeVisible();
  });

  test('asks for it again after a restart, which forgets whom it has let in', async ({ page }) => {
    const letIn = async () => {
      await page.getByLabel('Token', { exact: true }).fill('a-token-for-a-browser-test');
      await page.keyboard.press('Enter');
      await expect(page.getByRole('heading', { name: 'Topology' })).toBeVisible();
      await expect(page.getByText('Connected', { exact: true })).toBeVisible();
    };
    await page.goto('/host');
    await letIn();
    await daemon.end('SIGKILL');
    await expect(lostBanner(page)).toBeVisible();
    await daemon.start();
    await expect(page.getByLabel('Token', { exact: true })).toBeVisible();
    await letIn();
    await expect(lostBanner(page)).toHaveCount(0);
  });
});
