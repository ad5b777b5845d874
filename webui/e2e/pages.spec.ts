// What the pages do apart from a run: refusals beside their fields, live charts, lost connections, the keyboard.

import { expect, inspect, test } from './fixtures';

test.describe('the Tune page', () => {
  // A refused estimate is an answer of 422, which Chromium also writes to the console.
  test.use({ expected: [/status of 422/] });

  test('shows what the daemon refuses beside the field and does not start', async ({ page }) => {
    await page.goto('/tune');
    await page.getByRole('textbox', { name: 'workers: lowest value' }).fill('50');
    const knob = page.getByRole('group', { name: /^workers/ });
    await expect(knob.getByRole('alert')).toContainText('workers: low 50 is above high 32');
    await expect(page.getByRole('button', { name: 'Start the run' })).toBeDisabled();
    await inspect(page, 'tune-refused');
    await page.getByRole('textbox', { name: 'workers: lowest value' }).fill('2');
    await expect(knob.getByRole('alert')).toHaveCount(0);
    await expect(page.getByRole('button', { name: 'Start the run' })).toBeEnabled();
  });
});

test('the Live page draws every CPU, pauses, and keeps its window in the address', async ({ page }) => {
  await page.goto('/live');
  await expect(page.getByRole('img', { name: /^Use of CPU 0 by state.*user \d/ })).toBeVisible();
  await page.getByText('1 min', { exact: true }).click();
  await expect(page).toHaveURL(/window=60/);
  await page.reload();
  await expect(page.getByRole('radio', { name: '1 min', exact: true })).toBeChecked();
  const chart = page.getByRole('img', { name: /^Context switches/ });
  const label = () => chart.getAttribute('aria-label');
  const before = await label();
  await expect.poll(label).not.toBe(before);
  await page.getByRole('button', { name: 'Pause' }).click();
  const frozen = await label();
  await page.getByRole('button', { name: /^Table of Runnable/ }).click();
  await expect(page.getByRole('table', { name: /^Runnable/ })).toBeVisible();
  expect(await label()).toBe(frozen);
  await inspect(page, 'live');
  await page.getByRole('button', { name: 'Go on' }).click();
  await expect.poll(label).not.toBe(frozen);
});

test.describe('a lost connection', () => {
  test.use({ expected: [/ERR_/] });

  test('is said, and made up for once it is back', async ({ page }) => {
    await page.route('**/api/v1/live', (route) => route.abort());
    await page.goto('/');
    await expect(page.getByRole('alert')).toContainText('The connection to the daemon was lost');
    await inspect(page, 'disconnected');
    await page.unroute('**/api/v1/live');
    await expect(page.getByText('Live', { exact: true }).last()).toBeVisible();
    await expect(page.getByRole('alert')).toHaveCount(0);
  });
});

test.describe('an address that leads nowhere', () => {
  test.use({ expected: [/status of 404/] });

  test('says so in words', async ({ page }) => {
    await page.goto('/runs/9999');
    await expect(page.getByRole('alert')).toContainText('run 9999');
    await page.goto('/no/such/page');
    await expect(page.getByText('There is nothing at this address.')).toBeVisible();
    await inspect(page, 'not-found');
  });
});

test('the keyboard reaches the content, the pages and the theme', async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('button', { name: 'Start the quick run' })).toBeVisible();
  await page.keyboard.press('Tab');
  await expect(page.getByRole('link', { name: 'Skip to content' })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('main')).toBeFocused();
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Tune' }).press('Enter');
  await expect(page).toHaveURL(/\/tune$/);
  await expect(page.getByRole('main')).toBeFocused();
  await page.getByRole('button', { name: /^Theme/ }).press('Enter');
  await page.getByRole('menuitem', { name: 'Dark' }).press('Enter');
  await expect(page.locator('html')).toHaveAttribute('data-mantine-color-scheme', 'dark');
  await page.reload();
  await expect(page.locator('html')).toHaveAttribute('data-mantine-color-scheme', 'dark');
});

test('every page fits a screen 360 pixels wide', async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  for (const path of ['/', '/live', '/tune', '/runs', '/compare', '/host']) {
    await page.goto(path);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await expect(page.locator('[aria-busy=true]')).toHaveCount(0);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(overflow, path).toBeLessThanOrEqual(0);
    await page.screenshot({
      path: `test-results/screenshots/narrow${path.replaceAll('/', '-')}.png`,
      fullPage: true,
    });
  }
});

test('the palette lists every action with its keys, and keys do the same as the mouse', async ({ page }) => {
  await page.goto('/');
  await expect(page.getByRole('button', { name: 'Start the quick run' })).toBeVisible();
  await page.keyboard.press('g');
  await page.keyboard.press('l');
  await expect(page).toHaveURL(/\/live/);
  await expect(page.getByRole('button', { name: 'Pause' })).toBeVisible();
  await page.keyboard.press('1');
  await expect(page).toHaveURL(/window=60/);
  await page.keyboard.press('?');
  const palette = page.getByRole('dialog', { name: 'Actions' });
  await expect(palette.getByRole('option', { name: /^Go to Tune/ })).toBeVisible();
  await inspect(page, 'palette');
  await page.keyboard.type('host');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/host/);
  await page.keyboard.press('Control+k');
  await palette.getByRole('switch', { name: 'Single keys run actions' }).press('Space');
  await page.keyboard.press('Escape');
  await expect(palette).toHaveCount(0);
  await page.keyboard.press('g');
  await page.keyboard.press('l');
  await expect(page).toHaveURL(/\/host/);
});

test('the Host page shows where interrupts go and what a plan would change', async ({ page }) => {
  await page.goto('/host');
  await expect(page.getByRole('heading', { name: 'Topology' })).toBeVisible();
  await expect(page.getByRole('list', { name: 'Sockets' })).toContainText('CPU 0');
  await expect(page.getByRole('region', { name: 'Interrupts by CPU' }).last()).toBeVisible();
  await page.getByText('process', { exact: true }).click();
  await expect(page.getByText(/^process:/)).toBeVisible();
  await inspect(page, 'host');
});
