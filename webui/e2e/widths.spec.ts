// Every page from the narrowest screen to the widest, with the longest words that its user may have written.

import type { Page } from '@playwright/test';
import type { LiveServer } from '../src/api/generated';
import { CAPACITY, FINISHED, STOPPED } from './api';
import { withDemo } from './demo';
import { expect, keepPicture, test } from './fixtures';

withDemo(16);

const RUNLESS = ['/', '/live', '/live-tuning', '/tune', '/runs', '/compare', '/host', '/fleet', '/glossary'];
const WIDTHS = { narrow: { width: 360, height: 740 }, wide: { width: 3840, height: 2160 } };

/** A server with the longest words that its operator may have chosen; what runs here is another's affair. */
const LONGEST_SERVER: LiveServer = {
  addresses: [],
  attachable: false,
  file: `/srv/${'a'.repeat(120)}/apache2.conf`,
  no_reload: null,
  obstacles: ['It listens on no TCP port.'],
  pid: 4_194_303,
  processes: 17,
  program: `/opt/${'p'.repeat(120)}/bin/apache2`,
  target: 'apache',
  trouble: `${'t'.repeat(120)}: no such file`,
  unit: null,
  user: 'u'.repeat(32),
  values: {},
};

const onlyLongestServer = (page: Page) =>
  page.route('**/api/v1/live-tuning/servers', (route) => route.fulfill({ json: [LONGEST_SERVER] }));

/** Opens a page, keeps a picture of it where pictures are wanted, and finds fault with it if it has to be scrolled sideways. */
async function fits(page: Page, name: string, path: string): Promise<void> {
  await page.goto(path);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expect(page.getByRole('complementary', { name: 'Demo' })).toContainText('simulated measurements');
  await expect(page.locator('[aria-busy=true]')).toHaveCount(0);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  await keepPicture(page, `${name}${path.replaceAll(/[/?=]/g, '-')}`);
  expect.soft(overflow, `${path} is wider than the screen`).toBeLessThanOrEqual(0);
}

for (const [name, viewport] of Object.entries(WIDTHS)) {
  test(`every page that needs no run fits a screen ${viewport.width} pixels wide`, async ({ page }) => {
    await onlyLongestServer(page);
    await page.setViewportSize(viewport);
    for (const path of [...RUNLESS, '/no/such/page']) await fits(page, `${name}-bare`, path);
  });

  test(`every page of a demo fits a screen ${viewport.width} pixels wide, and says what it is`, async ({
    page,
    request,
  }) => {
    const address = `/api/v1/runs/${FINISHED}`;
    const longest = { name: 'n'.repeat(80), tags: ['w'.repeat(40), 'two words'], notes: 'm'.repeat(2000) };
    expect((await request.patch(address, { data: longest, maxRetries: 2 })).ok()).toBe(true);
    await onlyLongestServer(page);
    await page.setViewportSize(viewport);
    const run = `/runs/${FINISHED}`;
    const others = [`/compare?runs=${FINISHED},${STOPPED}`, `/runs/${STOPPED}`, `/runs/${CAPACITY}`];
    for (const path of [...RUNLESS, ...others, run, `${run}/trials/2`, `${run}/export`, '/no/such/page']) {
      await fits(page, name, path);
    }
    // The other tests look for the run without a name.
    const none = { name: '', tags: [], notes: '' };
    expect((await request.patch(address, { data: none, maxRetries: 2 })).ok()).toBe(true);
  });
}

test('the table of the finalists, their ranks and the neighbours need no scrolling sideways', async ({
  page,
}) => {
  for (const width of [390, 780, 1220, 1360]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`/runs/${FINISHED}`);
    const tables = ['What the finalists do', 'Ranks of the finalists'].map((name) =>
      page.getByRole('table', { name }),
    );
    if (width >= 780)
      tables.push(
        page.getByRole('region', { name: 'Table: Neighbours of the best configuration' }).getByRole('table'),
      );
    for (const table of tables) {
      const beyond = await table.evaluate((own) => own.scrollWidth - (own.parentElement?.clientWidth ?? 0));
      expect
        .soft(beyond, `${await table.getAttribute('aria-label')} at ${width} pixels`)
        .toBeLessThanOrEqual(0);
    }
    await expect(
      page
        .getByRole('row', { name: /^recommended/ })
        .getByText('requests/s')
        .first(),
    ).toBeVisible();
  }
});

test('runs, trials and knobs of the kernel need no scrolling sideways on narrow windows', async ({
  page,
}) => {
  for (const width of [390, 780]) {
    await page.setViewportSize({ width, height: 900 });
    for (const path of ['/', '/runs', `/runs/${FINISHED}`, '/host']) {
      await page.goto(path);
      await expect(page.locator('[aria-busy=true]')).toHaveCount(0);
      const boxes = page.locator('[data-scrolls]:visible');
      if (path !== '/host') await expect(boxes.first()).toBeVisible();
      for (const box of await boxes.all()) {
        const beyond = await box.evaluate((own) => own.scrollWidth - own.clientWidth);
        expect.soft(beyond, `${path} at ${width} pixels`).toBeLessThanOrEqual(0);
      }
    }
    await page.goto('/runs');
    await page.getByRole('button', { name: 'Took' }).click();
    await expect(page).toHaveURL(/sort=-took/);
  }
});

/** The names of charts that are wider than the panel they stand in. */
const tooWide = () =>
  [...document.querySelectorAll('canvas')].flatMap((canvas) => {
    const panel = canvas.closest('section')?.getBoundingClientRect().right ?? 0;
    return canvas.getBoundingClientRect().right > panel ? [canvas.getAttribute('aria-label')] : [];
  });

test('charts grow and shrink with their panels when the window does', async ({ page }) => {
  for (const path of ['/live', `/runs/${FINISHED}`, `/runs/${FINISHED}/trials/2`]) {
    await page.setViewportSize({ width: 780, height: 900 });
    await page.goto(path);
    await expect(page.locator('canvas').first()).toBeVisible();
    for (const width of [1360, 780, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await expect.poll(() => page.evaluate(tooWide), { message: `${path} at ${width} pixels` }).toEqual([]);
    }
  }
});

test('a table whose columns go on beyond an edge says so over its coloured cells', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 900 });
  await page.goto('/host');
  const table = page.getByRole('region', { name: 'Table: Interrupts by CPU' });
  await expect(table).toHaveAttribute('data-cut-at', 'right');
  await keepPicture(page, 'narrow-cut');
  await table.evaluate((box) => box.scrollTo({ left: box.scrollWidth }));
  await expect(table).toHaveAttribute('data-cut-at', 'left');
});
