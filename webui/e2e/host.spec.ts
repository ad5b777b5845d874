// The Host page: what the machine looks like, what a plan would change, and that applying and restoring do it. On a
// daemon that is no demo, as that changes nothing.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { get } from './api';
import { OwnDaemon, PORT } from './daemon';
import { expect, inspect, test } from './fixtures';

const daemon = new OwnDaemon(PORT + 5);
test.use({ baseURL: daemon.url });
test.beforeAll(() => daemon.start());
test.afterAll(() => daemon.remove());

interface Topology {
  devices: { name: string; up: boolean; queues: { direction: string }[] }[];
}

interface Kernel {
  here: { knob: { name: string } }[];
  lacking: { name: string }[];
  no_tls: string;
}

interface Planned {
  settings: { path: string; before: string; after: string }[];
}

// Whatever a test has left in force goes back.
test.afterEach(async ({ request }) => {
  await request.post('/api/v1/affinity/restore', { maxRetries: 2 });
});

test('shows where interrupts go and what a plan would change, and touches nothing', async ({ page }) => {
  await page.goto('/host');
  await expect(page.getByRole('heading', { name: 'Topology' })).toBeVisible();
  await expect(page.getByRole('list', { name: 'Sockets' })).toContainText('CPU 0');
  const interrupts = page.getByRole('region', { name: 'Interrupts by CPU' }).last();
  const some = await interrupts.getByRole('row').count();
  await page.getByRole('switch', { name: 'Also those that never came' }).press('Space');
  await expect.poll(() => interrupts.getByRole('row').count()).toBeGreaterThanOrEqual(some);
  await page.getByText('process', { exact: true }).click();
  await expect(page.getByText(/^process:/)).toBeVisible();
  await expect(page.getByText('Trimtab has changed nothing on this host.')).toBeVisible();
  await expect(page.getByRole('complementary', { name: 'Demo' })).toHaveCount(0);
  await inspect(page, 'host');
});

test('tells which knobs of the kernel can be tuned here and which cannot', async ({ page, request }) => {
  const { here, lacking, no_tls } = await get<Kernel>(request, '/host/kernel');
  await page.goto('/host');
  await expect(page.getByRole('heading', { name: 'Kernel', exact: true })).toBeVisible();
  await expect(page.getByRole('list', { name: 'What cannot be set here' }).getByRole('listitem')).toHaveCount(
    lacking.length + (no_tls ? 1 : 0),
  );
  if (here.length === 0) return;
  const knobs = page.getByRole('table', { name: 'Knobs of the kernel' });
  await expect(knobs.getByRole('row')).toHaveCount(here.length + 1);
  await page.goto('/tune');
  await page.getByRole('switch', { name: 'Tune the kernel too' }).press('Space');
  await page.getByRole('button', { name: /more knobs, fixed unless you free them/ }).click();
  await expect(page.getByRole('group', { name: here[0]?.knob.name })).toBeVisible();
  await page.getByText('The same in a terminal').click();
  await expect(page.getByText(/trimtab tune .*--kernel/)).toBeVisible();
  await inspect(page, 'tune-kernel');
});

/** Chooses the plan that spreads the receive queues of a device through which nothing comes. */
async function chooseQuietDevice(page: Page, devices: Topology['devices']): Promise<string> {
  const usable = devices.filter(({ queues }) => queues.some(({ direction }) => direction === 'rx'));
  const { name } = (usable.find(({ up }) => !up) ??
    usable.find((device) => device.name === 'lo')) as Topology['devices'][number];
  await page.getByText('interrupt', { exact: true }).click();
  const field = page.getByRole('combobox', { name: 'Devices' });
  for (const { up } of usable) if (up) await field.press('Backspace');
  await field.press('ArrowDown');
  await page.getByRole('option', { name, exact: true }).click();
  await page.keyboard.press('Escape');
  return name;
}

test('applies a plan, says so, and restores it', async ({ page, request }) => {
  const { devices } = await get<Topology>(request, '/host/topology');
  await page.goto('/host');
  const device = await chooseQuietDevice(page, devices);
  const preview = await request.post('/api/v1/affinity/plan', {
    data: { plan: 'interrupt', devices: [device] },
    maxRetries: 2,
  });
  const { settings } = (await preview.json()) as Planned;
  expect(settings.length).toBeGreaterThan(0);
  const [setting] = settings as [Planned['settings'][number]];
  const mask = () => readFileSync(setting.path, 'utf8').trim();
  const before = mask();
  const table = page.getByRole('region', { name: 'What the plan sets' });
  await expect(table.getByRole('row', { name: new RegExp(setting.path) })).toBeVisible();

  await page.getByRole('button', { name: 'Apply' }).click();
  await expect(page.getByRole('status').filter({ hasText: /^Applied: \d+ settings/ })).toBeVisible();
  await expect(page.getByRole('region', { name: 'Settings in force' })).toContainText(setting.path);
  await expect.poll(mask).not.toBe(before);
  await inspect(page, 'host-applied');

  await page.getByRole('button', { name: 'Restore everything' }).click();
  await expect(page.getByText('Trimtab has changed nothing on this host.')).toBeVisible();
  await expect.poll(mask).toBe(before);
});

test.describe('what it refuses', () => {
  // Refusals are answers of 409 and 422, which Chromium also writes to the console.
  test.use({ expected: [/status of (409|422)/] });

  test('is said in words where it was asked for', async ({ page, request }) => {
    const { devices } = await get<Topology>(request, '/host/topology');
    await page.goto('/host');
    await chooseQuietDevice(page, devices);
    const lock = process.env.TRIMTAB_LOCK ?? '';
    // As a run of the command line would hold it, which the page hears nothing of.
    const holder = spawn('flock', [lock, 'sh', '-c', 'echo held; cat'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    await page.getByRole('button', { name: 'Apply' }).click();
    await expect(page.getByRole('alert')).toContainText('another run is running on this machine');
    holder.stdin.end();
    await once(holder, 'exit');
    await page.getByRole('textbox', { name: 'Workers' }).fill('');
    await page.getByText('aligned', { exact: true }).click();
    await expect(page.getByText(/^aligned:/)).toBeVisible();
  });
});
