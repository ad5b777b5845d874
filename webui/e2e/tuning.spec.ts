// The main job in the browser: set up a run, watch it, get its configuration.

import { type APIRequestContext, expect, inspect, setUpTinyRun, startRun, test } from './fixtures';

/** The settings of a configuration file as `key = value` lines, without comments. */
function settingsOf(text: string): Map<string, string> {
  const pairs = text
    .split('\n')
    .map((line) => /^(\w+)\s*=\s*(.*)$/.exec(line.trim()))
    .flatMap((match) => (match ? [[match[1], match[2]] as [string, string]] : []));
  return new Map(pairs);
}

async function get<T>(request: APIRequestContext, path: string): Promise<T> {
  const response = await request.get(`/api/v1${path}`);
  expect(response.ok()).toBe(true);
  return (await response.json()) as T;
}

interface Run {
  outcome: { best: Record<string, string | number> };
}

interface Export {
  format: string;
  file_name: string;
  check_ok: boolean;
  check_command: string;
}

interface Trial {
  number: number;
  purpose: string;
  configuration: Record<string, string | number>;
  server_config: string;
}

test('a run is set up, watched and exported, and the export is what the server ran', async ({
  page,
  request,
}) => {
  await page.goto('/');
  await expect(page.getByText('There has been no run yet.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Start the quick run' })).toBeVisible();
  await inspect(page, 'home-empty');

  await setUpTinyRun(page, 5);
  await expect(page.getByRole('row', { name: /^searching 5 / })).toBeVisible();
  await expect(page.getByRole('row', { name: /^confirming 4 / })).toBeVisible();
  await inspect(page, 'tune');

  const id = await startRun(page);
  await expect(page.getByRole('progressbar', { name: /Progress of the run/ })).toBeVisible();
  const map = page.getByRole('img', { name: /^Map of scores .*: [1-9]\d* cells/ });
  await expect(map.first()).toBeVisible({ timeout: 45_000 });
  await page.reload();
  await expect(page.getByRole('heading', { name: `Run ${id}`, level: 1 })).toBeVisible();
  await expect(map.first()).toBeVisible();
  await expect(page.getByRole('progressbar')).toBeVisible();
  await inspect(page, 'run-searching');

  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Live' }).click();
  await expect(page.getByRole('img', { name: /^Use of CPU 0 by state/ })).toBeVisible();
  await page.goto(`/runs/${id}`);

  await expect(page.getByRole('heading', { name: 'Outcome' })).toBeVisible({ timeout: 60_000 });
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

  await page.getByRole('link', { name: 'Exports' }).click();
  const exports = await get<Export[]>(request, `/runs/${id}/exports`);
  const core = exports.find(({ format }) => format === 'trimtab-httpd');
  const text = await page
    .getByRole('region', { name: `Text of ${core?.file_name}`, exact: true })
    .locator('pre')
    .textContent();
  const download = await request.get(`/api/v1/runs/${id}/exports/trimtab-httpd/download`);
  expect(text).toBe(await download.text());
  const { outcome } = await get<Run>(request, `/runs/${id}`);
  const winner = searched.find(({ configuration }) => isSame(configuration, outcome.best));
  const ran = await get<Trial>(request, `/runs/${id}/trials/${winner?.number}`);
  const knobs = Object.keys(outcome.best);
  const pick = (settings: Map<string, string>) => knobs.map((knob) => `${knob} = ${settings.get(knob)}`);
  expect(pick(settingsOf(text ?? ''))).toEqual(pick(settingsOf(ran.server_config)));
  const checked = exports.filter(({ check_ok, check_command }) => check_ok && check_command !== '');
  expect(checked.length).toBeGreaterThan(1);
  await expect(page.getByText('Accepted by the server’s own check', { exact: true })).toHaveCount(
    checked.length,
  );
  const archive = await request.get(`/api/v1/runs/${id}/exports/zip`);
  expect((await archive.body()).subarray(0, 2).toString()).toBe('PK');
  await expect(page.getByRole('link', { name: 'Download all' })).toBeVisible();
  await inspect(page, 'export');

  await page.goto('/runs');
  await expect(page.getByRole('row', { name: new RegExp(`Run ${id} .* finished`) })).toBeVisible();
  await inspect(page, 'runs');
  await page.goto('/');
  await expect(page.getByRole('row', { name: new RegExp(`Run ${id} .* finished`) })).toBeVisible();
  await inspect(page, 'home');
});

test('a finished run is looked at trial by trial, filtered, noted and compared', async ({
  page,
  request,
}) => {
  const { runs } = await get<{ runs: { id: number; state: string; trials: number }[] }>(request, '/runs');
  const run = runs.find(({ state }) => state === 'finished');
  expect(run, 'the test before leaves a finished run').toBeDefined();
  const { id = 0, trials = 0 } = run ?? {};

  await page.goto(`/runs/${id}`);
  await page.getByRole('textbox', { name: 'Filter of the trials' }).fill('purpose=confirmation');
  await expect(page).toHaveURL(/filter=purpose/);
  const rows = page.getByRole('region', { name: 'Table of trials' }).locator('tbody tr');
  const confirmed = await rows.count();
  expect(confirmed).toBeLessThan(trials);
  await page.reload();
  await expect(rows).toHaveCount(confirmed);
  await page.getByRole('textbox', { name: 'Filter of the trials' }).fill('wrkers>2');
  await expect(page.getByText('"wrkers" is no knob of this run')).toBeVisible();
  await page.getByRole('textbox', { name: 'Filter of the trials' }).fill('');
  await page.getByRole('textbox', { name: 'Notes' }).fill('a first look');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Saved.')).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Diagnosis' })).toBeVisible({ timeout: 45_000 });

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
  await page.getByRole('button', { name: 'Measure again' }).click();
  await expect(page.getByRole('status').filter({ hasText: 'Being measured again' })).toBeVisible();
  await page.goto(`/runs/${id}`);
  await expect(page.getByRole('link', { name: `Trial ${trials + 1}`, exact: true })).toBeVisible({
    timeout: 45_000,
  });
  expect((await get<Run>(request, `/runs/${id}`)).outcome).toBeTruthy();

  await page.goto(`/compare?runs=${id}`);
  await expect(page.getByRole('region', { name: 'Winners of the runs' })).toContainText(`Run ${id}`);
  await page.getByRole('switch', { name: 'Only differences' }).press('Space');
  await expect(page).toHaveURL(/all=true/);
  await inspect(page, 'compare');
});

const isSame = (a: object, b: object) =>
  JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());

test.describe('while a run goes on', () => {
  // The refused second run is an answer of 409, which Chromium also writes to the console.
  test.use({ expected: [/status of 409/] });

  test('a second one is refused with the way to the first, and stop and resume work', async ({
    page,
    context,
  }) => {
    await setUpTinyRun(page, 40);
    const id = await startRun(page);
    await expect(page.getByRole('progressbar')).toBeVisible();

    const other = await context.newPage();
    await other.goto('/');
    await expect(other.getByRole('link', { name: `Watch run ${id}` })).toBeVisible();
    await other.close();
    await setUpTinyRun(page, 4);
    await page.getByRole('button', { name: 'Start the run' }).click();
    await expect(page.getByText('Another run is going on.')).toBeVisible();
    await page.getByRole('link', { name: `Go to run ${id}` }).click();

    await page.getByRole('button', { name: 'Pause' }).click();
    await expect(page.getByText('Paused', { exact: true })).toBeVisible({ timeout: 45_000 });
    await page.reload();
    await page.getByRole('button', { name: 'Resume' }).click();
    await expect(page.getByRole('button', { name: 'Pause' })).toBeVisible();

    await page.getByRole('button', { name: 'Stop' }).click();
    await expect(page.getByRole('button', { name: 'Resume' })).toBeVisible();
    await expect(page.getByText('stopped', { exact: true })).toBeVisible();
    await page.getByRole('button', { name: 'Resume' }).click();
    await expect(page.getByRole('progressbar')).toBeVisible();
    await page.getByRole('button', { name: 'Stop' }).click();
    await expect(page.getByRole('button', { name: 'Resume' })).toBeVisible();
  });
});
