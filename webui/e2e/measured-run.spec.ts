// The main job with real measurements: our server under real load, from the Tune page to the file that it ran with.

import { OwnDaemon, PORT } from './daemon';
import { expectTheExportedToBeWhatRan } from './exported';
import { expect, inspect, setUpTinyRun, startRun, test } from './fixtures';

const daemon = new OwnDaemon(PORT + 9);
test.use({ baseURL: daemon.url });
test.beforeAll(() => daemon.start());
test.afterAll(() => daemon.remove());

// `@live`: it measures.
test('a run is set up and measured until its outcome, and exports what it ran', { tag: '@live' }, async ({
  page,
  request,
}) => {
  await setUpTinyRun(page, 5);
  const id = await startRun(page);
  // The browser shares the CPUs with what is measured: trials that it disturbs are measured again.
  await expect(page.getByRole('heading', { name: 'Outcome' })).toBeVisible({ timeout: 300_000 });
  await expect(page.getByRole('progressbar')).toHaveCount(0);
  await page.getByRole('link', { name: 'Trial 2', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Measurements' })).toBeVisible();
  await inspect(page, 'measured-trial');
  await expectTheExportedToBeWhatRan(page, request, id);
});
