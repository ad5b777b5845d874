// The main job in the browser, from an empty database: set up a run, watch it, get its configuration. Other `@live`
// tests look at the finished run that this one leaves.

import { type Export, finishedRun, get, pause, read, resume, stopRuns, type Trial } from './api';
import { expect, inspect, quickStart, setUpTinyRun, startRun, test } from './fixtures';

// A run of an attempt before this one is in the way.
test.beforeEach(({ request }) => stopRuns(request));

/** The settings of a configuration file as `key = value` lines, without comments. */
function settingsOf(text: string): Map<string, string> {
  const pairs = text
    .split('\n')
    .map((line) => /^(\w+)\s*=\s*(.*)$/.exec(line.trim()))
    .flatMap((match) => (match ? [[match[1], match[2]] as [string, string]] : []));
  return new Map(pairs);
}

test('pages without a run say so, and how to get one', async ({ page }) => {
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

test('a run is set up and watched until its outcome', { tag: '@live' }, async ({ page, request }) => {
  await setUpTinyRun(page, 5);
  await expect(page.getByRole('row', { name: /^searching 5 / })).toBeVisible();
  await expect(page.getByRole('row', { name: /^confirming 4 / })).toBeVisible();
  await inspect(page, 'tune');

  const id = await startRun(page);
  await expect(page.getByRole('progressbar', { name: /Progress of the run/ })).toBeVisible();
  const map = page.getByRole('img', { name: /^Map of scores .*: [1-9]\d* (cells|configurations)/ });
  await expect(map.first()).toBeVisible({ timeout: 120_000 });
  // A page takes its time to be made anew and looked at: the run waits for it.
  await pause(request, id);
  await expect(page.getByText('Paused', { exact: true })).toBeVisible({ timeout: 120_000 });
  await page.reload();
  await expect(page.getByRole('heading', { name: `Run ${id}`, level: 1, exact: true })).toBeVisible();
  await expect(map.first()).toBeVisible();
  await expect(page.getByRole('progressbar')).toBeVisible();
  await inspect(page, 'run-searching');
  await resume(request, id);
  await expect(page.getByRole('button', { name: 'Pause' })).toBeVisible();

  await page
    .getByRole('navigation', { name: 'Pages' })
    .getByRole('link', { name: 'Live', exact: true })
    .click();
  await expect(page.getByRole('img', { name: /^Use of CPU 0 by state/ })).toBeVisible();
  await page.goto(`/runs/${id}`);

  // The browser shares the CPUs with what is measured: trials that it disturbs are measured again.
  await expect(page.getByRole('heading', { name: 'Outcome' })).toBeVisible({ timeout: 300_000 });
  await expect(page.getByRole('progressbar')).toHaveCount(0);
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

test('the exported configuration is what the server ran', { tag: '@live' }, async ({ page, request }) => {
  const { id, outcome } = await finishedRun(request);
  const trials = await get<Trial[]>(request, `/runs/${id}/trials`);
  await page.goto(`/runs/${id}`);
  await page.getByRole('link', { name: 'Exports' }).click();
  const exports = await get<Export[]>(request, `/runs/${id}/exports`);
  const core = exports.find(({ format }) => format === 'trimtab-httpd');
  const text = await page
    .getByRole('region', { name: `Text of ${core?.file_name}`, exact: true })
    .locator('pre')
    .textContent();
  const download = await read(request, `/runs/${id}/exports/trimtab-httpd/download`);
  expect(text).toBe(await download.text());
  const winner = trials.find(
    ({ purpose, configuration }) => purpose === 'search' && isSame(configuration, outcome.best),
  );
  const ran = await get<Trial>(request, `/runs/${id}/trials/${winner?.number}`);
  const knobs = Object.keys(outcome.best);
  const pick = (settings: Map<string, string>) => knobs.map((knob) => `${knob} = ${settings.get(knob)}`);
  const exported = settingsOf(text ?? '');
  // A limit on connections is for real pauses; the comment says as what it was measured.
  const measured = /As it was measured, (\d+):/.exec(text ?? '')?.[1];
  if (measured !== undefined) exported.set('max_connections', measured);
  expect(pick(exported)).toEqual(pick(settingsOf(ran.server_config)));
  const checked = exports.filter(({ check_ok, check_command }) => check_ok && check_command !== '');
  expect(checked.length).toBeGreaterThan(1);
  await expect(page.getByText('Accepted by this check', { exact: true })).toHaveCount(checked.length);
  await expect(page.getByRole('link', { name: 'Download all' })).toBeVisible();
  await inspect(page, 'export');
});

test('the first page and the list of runs have the run', { tag: '@live' }, async ({ page, request }) => {
  const { id } = await finishedRun(request);
  await page.goto('/runs');
  await expect(page.getByRole('row', { name: new RegExp(`Run ${id} .* finished`) })).toBeVisible();
  await inspect(page, 'runs');
  await page.goto('/');
  await expect(page.getByRole('row', { name: new RegExp(`Run ${id} .* finished`) })).toBeVisible();
  await inspect(page, 'home');
});

const isSame = (a: object, b: object) =>
  JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());
