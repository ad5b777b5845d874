// A run with the administrator's own file: started on the command line, of which the browser shows what was done to
// the file; or sent through the browser, which says so before.

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { get, stopRuns } from './api';
import { PROGRAM } from './daemon';
import { withDemo } from './demo';
import { expect, inspect, test } from './fixtures';

const { directory, scenario } = withDemo(12);
const OWN_FILE = `# kept by hand
worker_processes 1;
events { worker_connections 10; }
http {
    access_log /var/log/nginx/own.log;
    server { listen 80; root /srv; }
}
`;

test.beforeEach(({ request }) => stopRuns(request));

test('the exported file is shown beside the own one, with what was replaced to measure', async ({
  page,
  request,
}) => {
  scenario.release();
  const file = test.info().outputPath('own.conf');
  writeFileSync(file, OWN_FILE);
  const own = ['--target=nginx', `--base=${file}`, '--knob=worker_connections=512:4096'];
  const options = ['tune', '--json', '--preset=quick', '--budget=3', ...own, `--var=${directory}`];
  const { stdout } = await promisify(execFile)(PROGRAM, options, { maxBuffer: 2 ** 27 });
  const { id } = (JSON.parse(stdout) as { run: { id: number } }).run;
  const [exported] = await get<{ diff_base: string; replaced: string[] }[]>(request, `/runs/${id}/exports`);
  const { diff_base = '', replaced = [] } = exported ?? {};
  expect(replaced.some((sentence) => sentence.startsWith('access_log /var/log/nginx/own.log'))).toBe(true);

  await page.goto(`/runs/${id}/export`);
  const title = page.getByRole('heading', { name: 'Your file and the exported one' });
  await expect(title).toBeVisible();
  await expect(page.getByText(file, { exact: true }).first()).toBeVisible();
  const list = page.getByRole('list', { name: 'What else differed in the file that was measured' });
  await expect(list.getByRole('listitem')).toHaveText(replaced);
  const changes = page.getByRole('region', { name: 'Changes in own.conf' });
  const lines = diff_base.split('\n').slice(2);
  const changed = (sign: string, word: string) =>
    lines.filter((line) => line.startsWith(sign)).map((line) => `${word}: ${line}`);
  expect(changed('-', 'removed')).toContain('removed: -events { worker_connections 10; }');
  await expect(changes.getByRole('insertion')).toHaveText(changed('+', 'added'));
  await expect(changes.getByRole('deletion')).toHaveText(changed('-', 'removed'));
  await inspect(page, 'own-file');
});

test.describe('sent', () => {
  // A refused file is an answer of 422, which Chromium also writes to the console.
  test.use({ expected: [/status of 422/] });

  test('a whole file is sent, told of line by line, and tuned', async ({ page, request }) => {
    scenario.release();
    await page.goto('/tune?target=nginx');
    await expect(page.getByRole('combobox', { name: 'Target' })).toHaveValue('nginx');
    const choose = (name: string, text: string) =>
      page
        .locator('input[type=file]')
        .setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
    await choose('parts.conf', `include mime.types;\n${OWN_FILE}`);
    await expect(page.getByText(/^parts\.conf includes mime\.types: .*TRIMTAB_BASE_FILES/)).toBeVisible();
    await choose('shop.conf', OWN_FILE);
    const report = page.getByRole('region', { name: 'Your file in this run' });
    await report.getByText(/^In what the measured file differs from yours/).click();
    await expect(report.getByText(/^access_log \/var\/log\/nginx\/own\.log; to /)).toBeVisible();
    await expect(report.getByRole('heading', { name: 'What contradicts this machine' })).toBeVisible();
    await inspect(page, 'tune-own-file');
    await page.getByRole('button', { name: 'Start the run' }).click();
    await expect(page).toHaveURL(/\/runs\/\d+/);
    const id = page.url().match(/\d+$/)?.[0];
    const { base } = await get<{ base: string }>(request, `/runs/${id}`);
    expect(base).toMatch(/\/uploads\/nginx\/[0-9a-f]{16}\/shop\.conf$/);
  });
});
