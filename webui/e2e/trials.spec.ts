// A run that has ended: found again, looked at trial by trial, understood, noted, compared, and its files taken.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { type Export, FINISHED, finishedRun, get, type Run, STOPPED, stopRuns } from './api';
import { withDemo } from './demo';
import { expect, inspect, keepPicture, SCREENSHOTS, test } from './fixtures';

const { scenario } = withDemo(15);

// A run that a test before has left going on would be in the way of measuring again.
test.beforeEach(({ request }) => stopRuns(request));

const PYTHON = resolve(import.meta.dirname, '../../.venv/bin/python');

test('trials are filtered, and the filter is in the address', async ({ page, request }) => {
  const { id, trials } = await finishedRun(request);
  await page.goto(`/runs/${id}`);
  const filter = page.getByRole('textbox', { name: 'Filter of the trials' });
  await filter.fill('purpose=confirmation');
  await expect(page).toHaveURL(/filter=purpose/);
  await expect(page.getByRole('status').filter({ hasText: ` of ${trials} trials` })).toBeVisible();
  const rows = page.getByRole('region', { name: 'Table of trials' }).locator('tbody tr');
  const confirmed = await rows.count();
  expect(confirmed).toBeLessThan(trials);
  await page.reload();
  await expect(rows).toHaveCount(confirmed);
  await filter.fill('wrkers>2');
  await expect(page.getByText('"wrkers" is no knob of this run')).toBeVisible();
  await filter.fill('');
  await page.getByRole('button', { name: 'Score', exact: true }).click();
  const table = page.getByRole('region', { name: 'Table of trials' });
  const score = table.getByRole('columnheader', { name: 'Score', exact: true });
  await expect(score).toHaveAttribute('aria-sort', /ending/);
  await expect(page).toHaveURL(/sort=-?score/);
  const jump = page.getByRole('textbox', { name: 'Jump to the trial with this number' });
  await jump.fill('99');
  await jump.press('Enter');
  await expect(page.getByText('Trial 99 is not in the table.')).toBeVisible();
});

test('the knobs on the axes of the map are in the address', async ({ page, request }) => {
  const { id } = await finishedRun(request);
  await page.goto(`/runs/${id}`);
  const map = page.getByRole('img', { name: /^Map of scores/ }).first();
  await expect(map).toHaveAccessibleName(/over max_connections and workers/);
  await page.getByLabel('Knob on the axis: Up', { exact: true }).first().click();
  await page.getByRole('option', { name: 'sendfile', exact: true }).click();
  await expect(page).toHaveURL(/y=sendfile/);
  await expect(map).toHaveAccessibleName(/over max_connections and sendfile/);
  await page.reload();
  await expect(map).toHaveAccessibleName(/over max_connections and sendfile/);
  await page.goBack();
  await expect(page).not.toHaveURL(/\/runs\/\d+/);
});

test('a range brushed on an axis becomes a filter, and a click lets it go', async ({ page, request }) => {
  const { id } = await finishedRun(request);
  await page.goto(`/runs/${id}`);
  const chart = page.getByRole('img', { name: /^Trials over / });
  const filter = page.getByRole('textbox', { name: 'Filter of the trials' });
  const shown = page.getByRole('status').filter({ hasText: / of \d+ trials/ });
  // The axis of the score is the last one; its lower half holds the lowest score and not the highest. What loads
  // above the chart moves it, also between the hand's going there and its pressing, so the drag is tried until it
  // has met the axis.
  const onAxis = async (y: number) => {
    const box = await chart.boundingBox();
    if (box === null) throw new Error('the chart has no box');
    return { x: box.width - 56, y: 30 + y };
  };
  await expect(async () => {
    await chart.hover({ position: await onAxis(127) });
    await page.mouse.down();
    await chart.hover({ position: await onAxis(258) });
    await page.mouse.up();
    await expect(filter).toHaveValue(/^score>?=\d/, { timeout: 2_000 });
    await expect(shown).toBeVisible({ timeout: 2_000 });
  }).toPass();
  await expect(page).toHaveURL(/filter=score/);
  await chart.click({ position: await onAxis(60) });
  await expect(filter).toHaveValue('');
});

test('notes and tags are kept, and find the run again', async ({ page, request }) => {
  const { id } = await finishedRun(request);
  await page.goto(`/runs/${id}`);
  await page.getByRole('textbox', { name: 'Notes' }).fill('a first look');
  await page.getByRole('combobox', { name: 'Tags' }).fill('baseline');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Saved.')).toBeVisible();
  await page.reload();
  await expect(page.getByRole('textbox', { name: 'Notes' })).toHaveValue('a first look');
  await page.goto('/compare');
  await page.getByRole('combobox', { name: 'Runs' }).fill('baseline');
  await expect(page.getByRole('option')).toHaveCount(1);
  await page.getByRole('option').click();
  await expect(page).toHaveURL(new RegExp(`/compare\\?runs=${id}$`));
});

test('a trial shows its rates, its timeouts and its workers, and is measured again', async ({
  page,
  request,
}) => {
  const { id, trials } = await finishedRun(request);
  await page.goto(`/runs/${id}`);
  await expect(page.getByRole('heading', { name: 'Diagnosis' })).toBeVisible({ timeout: 120_000 });
  await page.getByRole('link', { name: 'Trial 3', exact: true }).click();
  await expect(page.getByRole('heading', { name: `Trial 3 of run ${id}`, level: 1 })).toBeVisible();
  await page
    .getByRole('button', { name: /^Details of/ })
    .first()
    .click();
  await expect(page).toHaveURL(/rate=1/);
  await expect(page.getByRole('region', { name: 'Timeouts by file size' }).first()).toBeVisible();
  await expect(page.getByRole('region', { name: 'Table: Workers', exact: true })).toBeVisible();
  await inspect(page, 'trial');
  await expect(page.getByRole('region', { name: 'Counters over time' })).toBeVisible();
  await expect(page.getByRole('img', { name: /^Use of CPU 0 by state.*user \d/ })).toBeVisible();
  await page.keyboard.press('j');
  await expect(page.getByRole('heading', { name: `Trial 4 of run ${id}`, level: 1 })).toBeVisible();
  await page.goBack();
  await expect(page.getByRole('heading', { name: `Trial 3 of run ${id}`, level: 1 })).toBeVisible();
  const outcome = (await get<Run>(request, `/runs/${id}`)).outcome;
  scenario.release();
  await page.getByRole('button', { name: 'Measure again' }).click();
  await expect(page.getByRole('status').filter({ hasText: 'Being measured again' })).toBeVisible();
  await page.goto(`/runs/${id}`);
  await expect(page.getByRole('link', { name: `Trial ${trials + 1}`, exact: true })).toBeVisible({
    timeout: 120_000,
  });
  expect((await get<Run>(request, `/runs/${id}`)).outcome).toEqual(outcome);
});

test('the details of every rate can be opened without scrolling the table sideways', async ({
  page,
  request,
}) => {
  const { id } = await finishedRun(request);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(`/runs/${id}/trials/3`);
  const buttons = page.getByRole('button', { name: /^Details of/ });
  await expect(buttons.first()).toBeVisible();
  // How many rates there are is the run's affair: they may go on below, never to the right.
  for (const button of await buttons.all()) {
    const box = await button.boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(1280);
  }
});

test('runs are compared', async ({ page }) => {
  await page.goto(`/compare?runs=${FINISHED},${STOPPED}`);
  const winners = page.getByRole('region', { name: 'Winners of the runs' });
  for (const run of [FINISHED, STOPPED]) await expect(winners).toContainText(`Run ${run}`);
  await expect(page.getByRole('img', { name: /^Goodput over offered rate/ })).toBeVisible();
  await page.getByRole('switch', { name: 'Only differences' }).press('Space');
  await expect(page).toHaveURL(/all=true/);
  await inspect(page, 'compare');
  await page.reload();
  await expect(page.getByRole('switch', { name: 'Only differences' })).not.toBeChecked();
});

test('every exported file is copied and downloaded as it is, alone and in one archive', async ({
  page,
  request,
  context,
}) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const { id } = await finishedRun(request);
  const exports = await get<Export[]>(request, `/runs/${id}/exports`);
  expect(exports.length).toBeGreaterThan(1);
  await page.goto(`/runs/${id}/export`);
  for (const { format, file_name, text } of exports) {
    const panel = page.getByRole('region', { name: format, exact: true });
    await panel.getByRole('button', { name: 'Copy', exact: true }).click();
    await expect(panel.getByRole('button', { name: 'Copied' })).toBeVisible();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(text);
    const downloading = page.waitForEvent('download');
    await panel.getByRole('link', { name: 'Download' }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe(file_name);
    expect(readFileSync(await download.path(), 'utf8')).toBe(text);
  }
  const downloading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download all' }).click();
  const archive = await (await downloading).path();
  const names = execFileSync(PYTHON, ['-m', 'zipfile', '-l', archive], { encoding: 'utf8' });
  for (const { file_name } of exports) expect(names).toContain(file_name);
});

test('a run that ended before its confirmation says that it has no exports, and why', async ({ page }) => {
  await page.goto(`/runs/${STOPPED}/export`);
  await expect(page.getByText('This run has no exports.')).toBeVisible();
  await expect(page.getByText('at the end of a confirmation, which this run did not come to')).toBeVisible();
  await expect(page.getByRole('heading', { level: 2 })).toHaveCount(0);
});

test.describe('the report of a run', () => {
  test.use({ expected: [/^request to file:/] });

  test('is one file that shows its figures without a network', async ({ page, request, context }) => {
    const { id } = await finishedRun(request);
    await page.goto(`/runs/${id}`);
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Report' }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe(`trimtab-run-${id}.html`);
    const file = resolve(SCREENSHOTS, '../report.html');
    await download.saveAs(file);
    // The page of the run is left first: its live stream would miss the network.
    await page.goto(`file://${file}`);
    await context.setOffline(true);
    await page.reload();
    await expect(page.getByRole('heading', { name: 'Outcome' })).toBeVisible();
    expect(await page.getByRole('img').count()).toBeGreaterThan(1);
    await keepPicture(page, 'report');
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.map((violation) => violation.id)).toEqual([]);
  });
});

test('the palette and its keys do what the buttons of a page do', async ({ page, request }) => {
  const { id } = await finishedRun(request);
  await page.goto(`/runs/${id}/export`);
  await expect(page.getByRole('link', { name: 'Download all' })).toBeVisible();
  await page.keyboard.press('?');
  await page.keyboard.type('download all');
  const downloading = page.waitForEvent('download');
  await page.keyboard.press('Enter');
  expect((await downloading).suggestedFilename()).toMatch(/\.zip$/);
  await page.keyboard.press('u');
  await expect(page.getByRole('heading', { name: `Run ${id}`, level: 1, exact: true })).toBeVisible();
  await page.keyboard.press('c');
  await expect(page.getByText('One run is no comparison.')).toBeVisible();
  await page.getByRole('combobox', { name: 'Runs' }).click();
  await page.getByRole('option', { name: new RegExp(`^Run ${STOPPED} · `) }).click();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('switch', { name: 'Only differences' })).toBeChecked();
  await page.getByRole('heading', { name: 'What sets them apart' }).click();
  await page.keyboard.press('d');
  await expect(page.getByRole('switch', { name: 'Only differences' })).not.toBeChecked();
  await expect(page).toHaveURL(/all=true/);
});

test.describe('a trial that is not there', () => {
  test.use({ expected: [/status of 404/] });

  test('is said in words, with the way back to its run', async ({ page, request }) => {
    const { id } = await finishedRun(request);
    await page.goto(`/runs/${id}/trials/9999`);
    await expect(page.getByRole('alert')).toContainText('9999');
    await page.getByRole('link', { name: `Back to run ${id}` }).click();
    await expect(page.getByRole('heading', { name: `Run ${id}`, level: 1, exact: true })).toBeVisible();
  });
});
