// The main job in the browser, from an empty database: set up a run, watch it, get its configuration.

import { FINISHED, get, stopRuns, type Trial } from './api';
import { OwnDaemon, PORT } from './daemon';
import { withDemo } from './demo';
import { expectTheExportedToBeWhatRan } from './exported';
import { expect, inspect, quickStart, setUpTinyRun, startRun, test } from './fixtures';

const { scenario } = withDemo(11);

test.describe('a database without a run', () => {
  const daemon = new OwnDaemon(PORT + 9, { demo: true });
  test.use({ baseURL: daemon.url });
  test.beforeAll(() => daemon.start());
  test.afterAll(() => daemon.remove());

  test('has pages that say so, and how to get one', async ({ page }) => {
    await page.goto('/');
    await expect(page.getByText('There has been no run yet.')).toBeVisible();
    await expect(quickStart(page)).toBeVisible();
    await inspect(page, 'home-empty');
    for (const empty of ['runs', 'compare']) {
      await page.goto(`/${empty}`);
      await expect(page.getByText('There has been no run yet.')).toBeVisible();
      await inspect(page, `${empty}-empty`);
    }
  });
});

test('a run is set up and watched until its outcome', async ({ page, request }) => {
  // A run of an attempt before this one is in the way.
  await stopRuns(request);
  scenario.hold(4);
  await setUpTinyRun(page, 5);
  await expect(page.getByRole('row', { name: /^searching 5 / })).toBeVisible();
  await expect(page.getByRole('row', { name: /^confirming 4 / })).toBeVisible();
  await inspect(page, 'tune');

  const id = await startRun(page);
  await expect(page.getByRole('progressbar', { name: /Progress of the run/ })).toBeVisible();
  const map = page.getByRole('img', { name: /^Map of scores .*: [1-9]\d* (cells|configurations)/ });
  await expect(map.first()).toBeVisible();
  await page.reload();
  await expect(page.getByRole('heading', { name: `Run ${id}`, level: 1, exact: true })).toBeVisible();
  await expect(map.first()).toBeVisible();
  await expect(page.getByRole('progressbar')).toBeVisible();
  await expect(page.getByText(/Searches for mean goodput/)).toBeVisible();
  await inspect(page, 'run-searching');

  await page
    .getByRole('navigation', { name: 'Pages' })
    .getByRole('link', { name: 'Live', exact: true })
    .click();
  await expect(page.getByRole('img', { name: /^Use of CPU 0 by state/ })).toBeVisible();
  await page.goto(`/runs/${id}`);

  scenario.release();
  await expect(page.getByRole('heading', { name: 'Outcome' })).toBeVisible();
  await expect(page.getByRole('progressbar')).toHaveCount(0);
  await expect(page.getByText(/Searched for mean goodput/)).toBeVisible();
  const trials = await get<Trial[]>(request, `/runs/${id}/trials`);
  const searched = trials.filter(({ purpose }) => purpose === 'search');
  const cells = new Set(searched.map(({ configuration }) => JSON.stringify(configuration)));
  await expect(page.getByRole('region', { name: 'Table of trials' }).locator('tbody tr')).toHaveCount(
    trials.length,
  );
  await page.getByRole('button', { name: 'Show the curve of trial 2' }).click();
  await expect(page).toHaveURL(/trial=2/);
  await inspect(page, 'run-finished');
  const asTable = page.getByRole('button', { name: /^Table of Map/ });
  while ((await asTable.count()) > 0) await asTable.first().click();
  const shown = page.getByRole('table', { name: /^Map of scores/ }).locator('tbody tr');
  await expect(shown).toHaveCount(cells.size);
});

test('the exported configuration is that of the trial which won', async ({ page, request }) => {
  await expectTheExportedToBeWhatRan(page, request, FINISHED);
  await inspect(page, 'export');
});

test('the first page and the list of runs have the run', async ({ page }) => {
  const row = page.getByRole('row', { name: new RegExp(`Run ${FINISHED} .* finished`) });
  await page.goto('/runs');
  await expect(row).toBeVisible();
  await inspect(page, 'runs');
  await page.goto('/');
  await expect(page.getByRole('row', { name: / finished/ }).first()).toBeVisible();
  await inspect(page, 'home');
});
