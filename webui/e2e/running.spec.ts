// A run while it goes on: by keyboard alone, in two tabs, beside a second one that is refused. The scenario holds it
// where a test wants to see it.

import type { Locator, Page } from '@playwright/test';
import { get, type Run, stopRuns } from './api';
import { withDemo } from './demo';
import { expect, goByKeys, inspect, quickStart, setUpTinyRun, startRun, TINY, test } from './fixtures';

const MOST_TABS = 250;
const { scenario } = withDemo(14);

// What a test that failed has left running would refuse the next one its run.
test.beforeEach(({ request }) => stopRuns(request));

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, element: Locator): Promise<void> {
  await expect(element).toBeVisible();
  for (let presses = 0; presses < MOST_TABS; presses += 1) {
    if (await element.evaluate((own) => own === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error('Tab does not reach it');
}

const paused = (page: Page) => page.getByText('Paused', { exact: true });
/** Lets a trial that is held go on once the run has been asked to pause, and waits for the pause. */
async function pausedAfter(page: Page, trial: number): Promise<void> {
  await expect(page.getByRole('button', { name: 'Resume' })).toBeVisible();
  scenario.hold(trial + 1);
  await expect(paused(page)).toBeVisible();
}

const progressOf = (page: Page) => page.getByRole('progressbar', { name: /Progress of the run/ });

test.describe('by keyboard alone', () => {
  // On a slow machine "0", on its way to "0.1", is asked about and refused, which Chromium writes to the console.
  test.use({ expected: [/status of 422/] });

  test('a run is set up, started, paused, resumed and stopped', async ({ page }) => {
    scenario.hold(3);
    await page.goto('/');
    await expect(quickStart(page)).toBeEnabled();
    await goByKeys(page, 't', /\/tune/);
    const fields = { Budget: '40', ...TINY };
    for (const [label, value] of Object.entries(fields)) {
      const field = page.getByRole('textbox', { name: label, exact: true });
      await tabTo(page, field);
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.type(value);
      if (label !== 'Budget') continue;
      await tabTo(page, page.getByRole('button', { name: 'Advanced settings' }));
      await page.keyboard.press('Enter');
    }
    await tabTo(page, page.getByRole('button', { name: 'Start the run' }));
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/runs\/\d+$/);
    const id = new URL(page.url()).pathname.split('/').at(-1);
    await expect(progressOf(page)).toBeVisible();
    await page.keyboard.press('p');
    await pausedAfter(page, 3);
    scenario.hold('each');
    await page.keyboard.press('p');
    await expect(page.getByRole('button', { name: 'Pause' })).toBeVisible();
    await page.keyboard.press('?');
    const palette = page.getByRole('dialog', { name: 'Actions' });
    await expect(palette.getByRole('option', { name: `Pause run ${id} p` })).toBeVisible();
    await page.keyboard.type('stop');
    await expect(palette.getByRole('option')).toHaveCount(1);
    await page.keyboard.press('Enter');
    await expect(page.getByText('stopped', { exact: true })).toBeVisible();
  });
});

test('whoever asks for no motion gets none, and the cell under way pulses for the others', async ({
  page,
}) => {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  // What moves: animations and transitions, and the dashed frame on the map, by its opacity each time it is drawn.
  await page.addInitScript(() => {
    const moved: string[] = [];
    const frames: number[] = [];
    Object.assign(globalThis, { moved, frames });
    for (const type of ['animationstart', 'transitionrun']) {
      document.addEventListener(
        type,
        ({ target }) => moved.push(`${type} ${(target as Element).className}`),
        true,
      );
    }
    const stroke = CanvasRenderingContext2D.prototype.strokeRect;
    CanvasRenderingContext2D.prototype.strokeRect = function (...box) {
      if (this.getLineDash().length > 0) frames.push(this.globalAlpha);
      stroke.apply(this, box);
    };
  });
  const seen = <Value>(name: 'moved' | 'frames') =>
    page.evaluate((own) => (globalThis as unknown as Record<string, Value[]>)[own] ?? [], name);
  scenario.hold(4);
  await setUpTinyRun(page, 40);
  expect(await seen<string>('moved')).toEqual([]);
  await startRun(page);
  const rows = page.getByRole('region', { name: 'Table of trials' }).locator('tbody tr');
  const paleFrames = async () => (await seen<number>('frames')).filter((opacity) => opacity < 1).length;
  await expect.poll(async () => (await seen('frames')).length).toBeGreaterThan(0);
  await expect(rows).toHaveCount(3);
  scenario.hold(8);
  await expect(rows).toHaveCount(7);
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog', { name: 'Actions' })).toBeVisible();
  await page.keyboard.press('Escape');
  expect(await seen<string>('moved')).toEqual([]);
  expect(await paleFrames()).toBe(0);
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  await page.reload();
  await expect.poll(paleFrames).toBeGreaterThan(0);
  await page.keyboard.press('?');
  await expect.poll(async () => (await seen('moved')).length).toBeGreaterThan(0);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Stop' }).click();
  await expect(page.getByText('stopped', { exact: true })).toBeVisible();
});

test.describe('while a run goes on', () => {
  // The refused second run is an answer of 409, which Chromium also writes to the console.
  test.use({ expected: [/status of 409/] });

  test('two tabs show the same, a second run is refused with the way to the first, and it can be resumed', async ({
    page,
    context,
  }) => {
    scenario.hold(3);
    await setUpTinyRun(page, 40);
    const id = await startRun(page);
    await expect(progressOf(page)).toBeVisible();

    const other = await context.newPage();
    await other.goto('/');
    await other.getByRole('link', { name: `Watch run ${id}` }).click();
    await expect(progressOf(other)).toBeVisible();
    await other.getByRole('button', { name: 'Pause' }).click();
    await pausedAfter(other, 3);
    await expect(paused(page)).toBeVisible();

    await setUpTinyRun(other, 4);
    await other.getByRole('button', { name: 'Start the run' }).click();
    await expect(other.getByText('Another run is going on.')).toBeVisible();
    await inspect(other, 'tune-conflict');
    await other.goto('/host');
    await expect(other.getByText('Not while a run is going on.')).toBeVisible();
    await other.goto('/tune');
    await setUpTinyRun(other, 4);
    await other.getByRole('button', { name: 'Start the run' }).click();
    await other.getByRole('link', { name: `Go to run ${id}` }).click();

    scenario.hold('each');
    await page.reload();
    await expect(paused(page)).toBeVisible();
    await page.getByRole('button', { name: 'Resume' }).click();
    for (const tab of [page, other]) {
      await expect(tab.getByRole('button', { name: 'Pause' })).toBeVisible();
    }
    await page.getByRole('button', { name: 'Stop' }).click();
    for (const tab of [page, other]) {
      await expect(tab.getByText('stopped', { exact: true })).toBeVisible();
    }
    await page.getByRole('button', { name: 'Resume' }).click();
    for (const tab of [page, other]) await expect(progressOf(tab)).toBeVisible();
    await other.getByRole('button', { name: 'Stop' }).click();
    for (const tab of [page, other]) {
      await expect(tab.getByText('stopped', { exact: true })).toBeVisible();
    }
    await other.close();
  });
});

test('the capacity is measured without a search, and its climb drawn', async ({ page }) => {
  scenario.hold(1);
  await setUpTinyRun(page, 4);
  await page.getByRole('button', { name: 'Measure capacity' }).click();
  await page.waitForURL(/\/runs\/\d+$/);
  await expect(progressOf(page)).toBeVisible();
  scenario.release();
  await expect(page.getByText('finished', { exact: true })).toBeVisible();
  const capacity = page.getByRole('region', { name: 'Capacity' });
  await expect(capacity.getByText(/^[\d,]+\srequests\/s$/).first()).toBeVisible();
  await expect(capacity.getByText(/^At [\d,]+ requests\/s it answers/)).toBeVisible();
  await expect(page.getByRole('img', { name: /^Replies over offered rate/ })).toBeVisible();
  for (const absent of ['Outcome', 'Map of the search', 'Trials']) {
    await expect(page.getByRole('heading', { name: absent })).toHaveCount(0);
  }
  await expect(page.getByRole('link', { name: 'Exports' })).toHaveCount(0);
  await inspect(page, 'capacity');
  await page.getByRole('link', { name: 'trial 1', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Measurements' })).toBeVisible();
});

test('a double click on the start of the quick run starts one run, and it is deleted for good', async ({
  page,
  request,
}) => {
  scenario.hold('each');
  const before = await get<{ total: number }>(request, '/runs?limit=1');
  await page.goto('/');
  await quickStart(page).dblclick();
  await page.waitForURL(/\/runs\/\d+$/);
  await page.getByRole('button', { name: 'Stop' }).click();
  await expect(page.getByText('stopped', { exact: true })).toBeVisible();
  await expect(page.getByRole('alert')).toHaveCount(0);
  const after = await get<{ total: number; runs: Run[] }>(request, '/runs?limit=1');
  expect(after.total).toBe(before.total + 1);
  const id = after.runs[0]?.id;
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await inspect(page, 'delete-run');
  await page.getByRole('button', { name: 'Delete for good' }).click();
  await expect(page.getByRole('heading', { name: 'Runs', level: 1 })).toBeVisible();
  await expect(page.getByRole('link', { name: `Run ${id}`, exact: true })).toHaveCount(0);
  expect((await get<{ total: number }>(request, '/runs?limit=1')).total).toBe(before.total);
});
