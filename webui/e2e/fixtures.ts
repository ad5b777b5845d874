// What every browser test checks besides its own subject: nothing is asked of another host, no error reaches the
// console, nothing breaks the Content-Security-Policy. And the steps that several tests share.

import { mkdirSync } from 'node:fs';
import AxeBuilder from '@axe-core/playwright';
import { test as base, expect, type Page } from '@playwright/test';

interface Watched {
  /** Console errors and requests that a test expects, as patterns; the watch lets them pass. */
  expected: RegExp[];
}

export const test = base.extend<Watched>({
  expected: [[], { option: false }],
  page: async ({ page, baseURL, expected }, use) => {
    const wrong: string[] = [];
    page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()));
    page.on('pageerror', (error) => wrong.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(baseURL ?? '')) wrong.push(`request to ${request.url()}`);
    });
    await page.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', (event) =>
        reportError(new Error(`policy violation: ${event.violatedDirective} ${event.sourceFile}`)),
      );
    });
    await use(page);
    expect(wrong.filter((text) => !expected.some((pattern) => pattern.test(text)))).toEqual([]);
  },
});

export type { APIRequestContext } from '@playwright/test';
export { expect };

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
export const SCREENSHOTS = 'test-results/screenshots';
mkdirSync(SCREENSHOTS, { recursive: true });

/** Keeps a picture of the whole page, where somebody asked for pictures: nobody looks at those of the gate. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  if (process.env.TRIMTAB_PICTURES === undefined) return;
  await page.screenshot({ path: `${SCREENSHOTS}/${name}.png`, fullPage: true });
}

/** Lets axe look for what keeps people out, in both colour schemes. */
export async function inspect(page: Page, name: string): Promise<void> {
  await page.evaluate(() => scrollTo(0, 0));
  // Charts that are off screen are not drawn.
  const viewport = page.viewportSize() ?? { width: 1360, height: 900 };
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({
    width: viewport.width,
    height: Math.min(6000, Math.max(viewport.height, height)),
  });
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await expect(page.locator('html')).toHaveAttribute('data-mantine-color-scheme', scheme);
    await comeToRest(page);
    await keepPicture(page, `${name}-${scheme}`);
    // Only contrast can differ between the schemes.
    const axe = new AxeBuilder({ page });
    const { violations } = await (scheme === 'light'
      ? axe.withTags(RULES)
      : axe.withRules(['color-contrast'])
    ).analyze();
    const told = violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}, ${scheme}: ${html}\n${failureSummary}`),
    );
    expect(told.join('\n\n')).toBe('');
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(viewport);
}

/** Waits for the ends of all transitions: a colour on its way to another has a contrast of its own. */
async function comeToRest(page: Page): Promise<void> {
  const moving = () =>
    document
      .getAnimations()
      .filter(({ effect }) => effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY).length;
  await expect.poll(() => page.evaluate(moving)).toBe(0);
}

/** Goes to another page by `g` and a key, which belong together only while no pause is between them. */
export async function goByKeys(page: Page, key: string, address: RegExp): Promise<void> {
  await expect(async () => {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await expect(page).toHaveURL(address, { timeout: 5_000 });
  }).toPass();
}

/** The button of the first page that tunes a server of this machine, whichever it offers first. */
export const quickStart = (page: Page) => page.getByRole('button', { name: /^Tune \w+$/ });

/** What makes a run take seconds, by the labels of the Tune page. */
export const TINY = {
  'Warm-up per rate': '0.1',
  'Time per rate': '0.4',
  'Client timeout': '0.3',
  'Rates in the ladder': '2',
  'Trials of the elimination': '0',
  'Confirmation repeats': '2',
  'File set': '1',
  'Calibration step': '0.4',
};

/** Opens the Tune page and sets up a run of a few seconds, of the target that it offers first or of another. */
export async function setUpTinyRun(page: Page, budget: number, target?: string): Promise<void> {
  await page.goto('/tune');
  if (target !== undefined) {
    await page.getByRole('combobox', { name: 'Target' }).click();
    await page.getByRole('option', { name: target, exact: true }).click();
  }
  await page.getByRole('textbox', { name: 'Budget' }).fill(String(budget));
  await page.getByRole('button', { name: 'Advanced settings' }).click();
  for (const [label, value] of Object.entries(TINY)) {
    await page.getByRole('textbox', { name: label, exact: true }).fill(value);
  }
}

/** Starts what the Tune page shows; returns the run's number. */
export async function startRun(page: Page): Promise<number> {
  await page.getByRole('button', { name: 'Start the run' }).click();
  await page.waitForURL(/\/runs\/\d+$/);
  return Number(new URL(page.url()).pathname.split('/').at(-1));
}
