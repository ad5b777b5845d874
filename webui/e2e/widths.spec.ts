// Every page from the narrowest screen to the widest, with the longest words that its user may have written.

import type { Page } from '@playwright/test';
import { finishedRun } from './api';
import { expect, SCREENSHOTS, test } from './fixtures';

const RUNLESS = ['/', '/live', '/live-tuning', '/tune', '/runs', '/compare', '/host', '/fleet'];
const WIDTHS = { narrow: { width: 360, height: 740 }, wide: { width: 3840, height: 2160 } };

/** Opens a page, keeps a picture of it, and finds fault with it if it has to be scrolled sideways. */
async function fits(page: Page, name: string, path: string): Promise<void> {
  await page.goto(path);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expect(page.locator('[aria-busy=true]')).toHaveCount(0);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  await page.screenshot({
    path: `${SCREENSHOTS}/${name}${path.replaceAll(/[/?=]/g, '-')}.png`,
    fullPage: true,
  });
  expect.soft(overflow, `${path} is wider than the screen`).toBeLessThanOrEqual(0);
}

for (const [name, viewport] of Object.entries(WIDTHS)) {
  test(`every page that needs no run fits a screen ${viewport.width} pixels wide`, async ({ page }) => {
    await page.setViewportSize(viewport);
    for (const path of [...RUNLESS, '/no/such/page']) await fits(page, `${name}-bare`, path);
  });

  test(`every page fits a screen ${viewport.width} pixels wide`, { tag: '@live' }, async ({
    page,
    request,
  }) => {
    const { id } = await finishedRun(request);
    const longest = { name: 'n'.repeat(80), tags: ['w'.repeat(40), 'two words'], notes: 'm'.repeat(2000) };
    expect((await request.patch(`/api/v1/runs/${id}`, { data: longest, maxRetries: 2 })).ok()).toBe(true);
    await page.setViewportSize(viewport);
    const run = `/runs/${id}`;
    const paths = [...RUNLESS, `/compare?runs=${id}`, run];
    for (const path of [...paths, `${run}/trials/2`, `${run}/export`, '/no/such/page']) {
      await fits(page, name, path);
    }
    // The other tests look for the run without a name.
    expect((await request.patch(`/api/v1/runs/${id}`, { data: { name: '' }, maxRetries: 2 })).ok()).toBe(
      true,
    );
  });
}
