// A run with the administrator's own file: it is started on the command line, and the browser shows what was done
// to the file. In a directory of its own, so that the other tests' newest run stays the one that they know.

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { get } from './api';
import { OwnDaemon, PROGRAM } from './daemon';
import { expect, inspect, test } from './fixtures';

const PORT = Number(process.env.TRIMTAB_E2E_PORT ?? 8097) + 7;
// So few connections that every other number is many times as good, whatever else the machine is doing.
const OWN_FILE = `# kept by hand
worker_processes 1;
events { worker_connections 10; }
http {
    access_log /var/log/nginx/own.log;
    server { listen 80; root /srv; }
}
`;
const SHORT = [
  ...['directories=1', 'time_scale=0.02', 'timeout_s=0.5', 'calibration_start_rps=100'],
  ...['calibration_step_s=0.5', 'rate_duration_s=0.4', 'warmup_s=0.1', 'ladder_points=2'],
  ...['calibration_halvings=1', 'capacity_halvings=0', 'confirmation_repeats=4'],
  'thresholds={"all_files_limit":1,"size_limit":1,"size_over_mean_limit":1,"failures_limit":1}',
].map((setting) => `--set=${setting}`);

const daemon = new OwnDaemon(PORT);
test.use({ baseURL: daemon.url });
test.afterAll(() => daemon.remove());

test('the exported file is shown beside the own one, with what was replaced to measure', {
  tag: '@live',
}, async ({ page, request }) => {
  const file = join(daemon.var, 'own.conf');
  writeFileSync(file, OWN_FILE);
  const options = ['tune', '--target=nginx', `--base=${file}`, '--budget=3', '--knob=worker_processes=1'];
  const narrowed = ['--knob=worker_connections=512:4096', ...SHORT, `--var=${daemon.var}`];
  await promisify(execFile)(PROGRAM, [...options, ...narrowed]);
  await daemon.start();
  const [exported] = await get<{ diff_base: string; replaced: string[] }[]>(request, '/runs/1/exports');
  const { diff_base = '', replaced = [] } = exported ?? {};
  expect(replaced.some((sentence) => sentence.startsWith('access_log /var/log/nginx/own.log'))).toBe(true);

  await page.goto('/runs/1/export');
  const title = page.getByRole('heading', { name: 'Your file and the exported one' });
  await expect(title).toBeVisible();
  await expect(page.getByText(file, { exact: true })).toBeVisible();
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
