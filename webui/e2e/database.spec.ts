// MariaDB in the browser: it has workloads of its own, is tuned as a web server is, and gets a fragment of its
// option file.

import { stopRuns } from './api';
import { withDemo } from './demo';
import { expect, inspect, setUpTinyRun, startRun, test } from './fixtures';

const { scenario } = withDemo(10);
test.beforeEach(({ request }) => stopRuns(request));

test('a database is tuned under the customers of a shop, and its option file is shown', async ({ page }) => {
  scenario.hold(1);
  await setUpTinyRun(page, 2, 'mariadb');
  await expect(page.getByRole('combobox', { name: 'Workload' })).toHaveValue('shop');
  await expect(page.getByRole('group', { name: /^thread_handling/ })).toBeVisible();
  await page.getByRole('textbox', { name: 'Client timeout', exact: true }).fill('2');
  await inspect(page, 'tune-database');

  const id = await startRun(page);
  await expect(page.getByRole('progressbar', { name: /Progress of the run/ })).toBeVisible();
  scenario.release();
  await expect(page.getByRole('heading', { name: 'Outcome' })).toBeVisible();
  await inspect(page, 'run-database');

  await page.goto(`/runs/${id}/export`);
  const file = page.getByRole('region', { name: 'Text of my.cnf', exact: true }).locator('pre');
  await expect(file).toContainText(/^max_connections *= *\d+$/m);
  await expect(file).toContainText(/^thread_handling *= *(one-thread-per-connection|pool-of-threads)$/m);
  await inspect(page, 'export-database');
});
