// What an exported file has to be: the settings with which the winner ran, accepted by the servers' own checks.

import type { APIRequestContext, Page } from '@playwright/test';
import { type Export, get, type Run, read, type Trial } from './api';
import { expect } from './fixtures';

/** The settings of a configuration file as `key = value` lines, without comments. */
function settingsOf(text: string): Map<string, string> {
  const pairs = text
    .split('\n')
    .map((line) => /^(\w+)\s*=\s*(.*)$/.exec(line.trim()))
    .flatMap((match) => (match ? [[match[1], match[2]] as [string, string]] : []));
  return new Map(pairs);
}

const isSame = (a: object, b: object) =>
  JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());

/** Opens the exports of a run, and compares its file with what the API and the winning trial say. */
export async function expectTheExportedToBeWhatRan(
  page: Page,
  request: APIRequestContext,
  id: number,
): Promise<void> {
  const { outcome } = await get<Run>(request, `/runs/${id}`);
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
    ({ purpose, configuration }) => purpose !== 'calibration' && isSame(configuration, outcome.best),
  );
  const ran = await get<Trial>(request, `/runs/${id}/trials/${winner?.number}`);
  const knobs = Object.keys(outcome.best);
  const pick = (settings: Map<string, string>) => knobs.map((knob) => `${knob} = ${settings.get(knob)}`);
  const exported = settingsOf(text ?? '');
  // A limit on connections is for real pauses and for what was open; the comment says as what it was measured.
  const measured = /(?:As it was measured,|It was measured with) (\d[\d,]*\d)[:.]/.exec(text ?? '')?.[1];
  if (measured !== undefined) exported.set('max_connections', measured.replaceAll(',', ''));
  // Workers are for all CPUs of the machine; the comment says how many were measured.
  const flat = (text ?? '').replace(/\n#\s+/g, ' ');
  const workers =
    /workers (?:is \d+ in the exported files, [^:]+:|stays one per CPU, which is the default;) (\d+) was measured/.exec(
      flat,
    )?.[1];
  if (workers !== undefined) exported.set('workers', workers);
  expect(pick(exported)).toEqual(pick(settingsOf(ran.server_config)));
  const checked = exports.filter(({ check_ok, check_command }) => check_ok && check_command !== '');
  expect(checked.length).toBeGreaterThan(1);
  await expect(page.getByText('Accepted by this check', { exact: true })).toHaveCount(checked.length);
  await expect(page.getByRole('link', { name: 'Download all' })).toBeVisible();
}
