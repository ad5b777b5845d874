// What the pages do apart from a run: refusals beside their fields, live charts, the keyboard, safe answers.

import type { Page } from '@playwright/test';
import { newestSample, sampledSeconds } from './api';
import { withDemo } from './demo';
import { expect, goByKeys, inspect, quickStart, test } from './fixtures';

withDemo(13);

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

  test('can be read while the next estimate is on its way', async ({ page }) => {
    await page.goto('/tune');
    await expect(page.getByRole('row', { name: /^searching / })).toBeVisible();
    let answer = () => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/api/v1/runs/estimate', async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole('textbox', { name: 'Budget' }).fill('7');
    const before = page.locator('[aria-busy="true"]').getByRole('row', { name: /^searching / });
    await expect(before).toBeVisible();
    await inspect(page, 'tune-estimating');
    answer();
    await expect(before).toHaveCount(0);
    await expect(page.getByRole('row', { name: /^searching 7 / })).toBeVisible();
  });

  test('says what is wrong with a ladder under it', async ({ page }) => {
    await page.goto('/tune');
    const ladder = page.getByRole('textbox', { name: 'Ladder' });
    for (const wrong of ['5000', '20000, 10000', '5000, many']) {
      await ladder.fill(wrong);
      await expect(ladder, wrong).toHaveAttribute('aria-invalid', 'true');
      await expect(page.getByText(/^ladder.*expected/).first()).toBeVisible();
      await expect(page.getByRole('button', { name: 'Start the run' })).toBeDisabled();
    }
    await ladder.fill('5000, 10000');
    await expect(ladder).not.toHaveAttribute('aria-invalid', 'true');
    await expect(page.getByRole('button', { name: 'Start the run' })).toBeEnabled();
  });

  test('says what is wrong with a number under it', async ({ page }) => {
    await page.goto('/tune');
    await page.getByRole('button', { name: 'Advanced settings' }).click();
    for (const label of ['Budget', 'Time per rate', 'Client timeout', 'Rates in the ladder', 'File set']) {
      const field = page.getByRole('textbox', { name: label, exact: true });
      const good = await field.inputValue();
      await field.fill('0');
      await expect(field, label).toHaveAttribute('aria-invalid', 'true');
      await expect(page.getByRole('button', { name: 'Start the run' })).toBeDisabled();
      await field.fill(good);
      await expect(field, label).not.toHaveAttribute('aria-invalid', 'true');
    }
    await expect(page.getByRole('button', { name: 'Start the run' })).toBeEnabled();
  });
});

test('a word of the field is explained where it stands, and leads to its entry', async ({ page }) => {
  await page.goto('/tune');
  const word = page.getByRole('link', { name: 'ladder', exact: true });
  await word.focus();
  await expect(page.getByRole('tooltip')).toContainText('The rates of a run');
  await inspect(page, 'term');
  await page.keyboard.press('Escape');
  await expect(page.getByRole('tooltip')).toHaveCount(0);
  await word.hover();
  await expect(page.getByRole('tooltip')).toBeVisible();
  await word.press('Enter');
  await expect(page).toHaveURL(/\/glossary#ladder$/);
  await expect(page.getByText('The rates of a run', { exact: false })).toBeVisible();
  await inspect(page, 'glossary');
});

test('the Live page draws every CPU, pauses, and keeps its window in the address', async ({
  page,
  request,
}) => {
  // All charts are in sight: one that is not keeps what it has drawn last until it is scrolled to.
  await page.setViewportSize({ width: 1360, height: 5000 });
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
  await expect(page.getByRole('button', { name: 'Go on' })).toBeVisible();
  const frozen = await label();
  const sampled = await newestSample(request);
  await page.getByRole('button', { name: /^Table of Runnable/ }).click();
  await expect(page.getByRole('table', { name: /^Runnable/ })).toBeVisible();
  await expect.poll(() => newestSample(request)).toBeGreaterThan(sampled + 2);
  expect(await label()).toBe(frozen);
  await inspect(page, 'live');
  await page.getByRole('button', { name: 'Go on' }).click();
  await expect.poll(label).not.toBe(frozen);
});

test('a drag over one chart shows that part in all of them, and the cursor is in all', async ({
  page,
  request,
}) => {
  // The part that is dragged over begins 24 s ago.
  await expect.poll(() => sampledSeconds(request)).toBeGreaterThan(26);
  await page.goto('/live?window=60');
  const chart = page.getByRole('img', { name: /^Use of CPU 0 by state.*user \d/ });
  await chart.scrollIntoViewIfNeeded();
  const { x, y, width, height } = (await chart.boundingBox()) as NonNullable<
    Awaited<ReturnType<typeof chart.boundingBox>>
  >;
  const at = (share: number) => [x + share * width, y + height / 2] as const;
  await page.mouse.move(...at(0.6));
  // The flag beside the cursor is shown in the chart under the pointer only; the line is in all.
  const flags = page.getByText(/^−\d:\d\d( · trial \d+)?$/);
  await expect(flags.filter({ visible: true })).toHaveCount(1);
  await expect.poll(() => flags.count()).toBeGreaterThan(2);
  await page.mouse.down();
  await page.mouse.move(...at(0.7), { steps: 3 });
  await page.mouse.move(...at(0.8), { steps: 3 });
  await page.mouse.up();
  await expect(page.getByRole('button', { name: 'Go on' })).toBeVisible();
  const firstTimes: (string | null)[] = [];
  for (const name of [/^Table of Use of CPU 1/, /^Table of Context switches/]) {
    await page.getByRole('button', { name }).click();
    const rows = page.getByRole('table', { name: new RegExp(name.source.slice(10)) }).locator('tbody th');
    firstTimes.push(await rows.first().textContent());
    expect(await rows.count()).toBeLessThan(30);
  }
  expect(firstTimes[0]).toMatch(/^\d\d:\d\d:\d\d$/);
  expect(firstTimes[1]).toBe(firstTimes[0]);
  await page.getByRole('button', { name: 'Show all of the window' }).click();
  await expect(page.getByRole('button', { name: 'Show all of the window' })).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Go on' })).toBeVisible();
});

test('a hidden tab rests, and is up to date once it is seen again', async ({ page, context }) => {
  const label = async (tab: Page) => {
    const chart = tab.getByRole('img', { name: /^Context switches/ });
    await chart.scrollIntoViewIfNeeded();
    return () => chart.getAttribute('aria-label');
  };
  // A tab that is hidden for long lets its stream go, which is another matter: that time never comes here.
  await page.addInitScript(() => {
    const { setTimeout } = globalThis;
    const withoutLong = (run: () => void, ms = 0) => (ms < 30_000 ? setTimeout(run, ms) : 0);
    Object.assign(globalThis, { setTimeout: withoutLong });
  });
  await page.goto('/live?window=60');
  const own = await label(page);
  const seen = await own();
  await expect.poll(own).not.toBe(seen);
  // A headless browser hides no tab: this says to the page what a browser would.
  const turn = (state: 'hidden' | 'visible') =>
    page.evaluate((to) => {
      Object.defineProperty(document, 'visibilityState', { value: to, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }, state);
  await turn('hidden');
  const hidden = await own();
  const other = await context.newPage();
  await other.goto('/live?window=60');
  const others = await label(other);
  for (let changes = 0; changes < 3; changes += 1) {
    const before = await others();
    await expect.poll(others).not.toBe(before);
  }
  await other.close();
  expect(await own()).toBe(hidden);
  await turn('visible');
  await expect.poll(own).not.toBe(hidden);
});

test('eight tabs are all up to date, though a browser allows six connections to a host', async ({
  context,
}) => {
  const tabs = await Promise.all(Array.from({ length: 8 }, () => context.newPage()));
  for (const tab of tabs) {
    await tab.goto('/live?window=60');
    await expect(tab.getByText('Connected', { exact: true })).toBeVisible();
  }
  for (const tab of tabs) await tab.close();
});

test.describe('a page that is handed a script', () => {
  // The browser says that it has refused it.
  test.use({ expected: [/inline script|policy violation: script-src/] });

  test('has none of its own and runs none but the files of the daemon', async ({ page }) => {
    const response = await page.goto('/');
    const policy = response?.headers()['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'self'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    const html = (await response?.text()) ?? '';
    const scripts = html.match(/<script[^>]*>/g) ?? [];
    expect(scripts.length).toBeGreaterThan(0);
    expect(scripts.filter((tag) => !/ src="\//.test(tag))).toEqual([]);
    expect(html).not.toMatch(/ (on\w+|style)=|<style/);
    // The browser holds the page to it.
    const ran = await page.evaluate(() => {
      const script = document.createElement('script');
      script.textContent = 'globalThis.inlineRan = true';
      document.body.append(script);
      return 'inlineRan' in globalThis;
    });
    expect(ran).toBe(false);
  });
});

test.describe('an address that leads nowhere', () => {
  test.use({ expected: [/status of 404/] });

  test('says so in words', async ({ page }) => {
    // What of an address cannot be meant is as if it were not there.
    await page.goto('/compare?runs=1,x');
    await expect(
      page.getByText(/^(Choose the runs to compare|There has been no run yet)\.$/).first(),
    ).toBeVisible();
    await page.goto('/live?window=7');
    await expect(page.getByRole('radio', { name: '5 min', exact: true })).toBeChecked();
    await page.goto('/runs/9999');
    await expect(page.getByRole('alert')).toContainText('run 9999');
    await page.goto('/no/such/page');
    await expect(page.getByText('There is nothing at this address.')).toBeVisible();
    await inspect(page, 'not-found');
  });
});

test('the keyboard reaches the content, the pages and the theme', async ({ page }) => {
  await page.goto('/');
  await expect(quickStart(page)).toBeVisible();
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

test('the palette lists every action with its keys, and keys do the same as the mouse', async ({ page }) => {
  await page.goto('/');
  await expect(quickStart(page)).toBeVisible();
  await goByKeys(page, 'l', /\/live/);
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
