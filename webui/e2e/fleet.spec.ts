// A real scheduler and a real generator of a fleet: shown, offered to a run, drained in the browser, and gone.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { OwnDaemon, PORT, PROGRAM } from './daemon';
import { expect, inspect, test } from './fixtures';

const SCHEDULER = `tls://127.0.0.1:${PORT + 7}`;
/** The engine takes some seconds to load. */
const JOINED_MS = 60_000;

const daemon = new OwnDaemon(PORT + 6, { environment: { TRIMTAB_FLEET: SCHEDULER } });
const running: ChildProcess[] = [];

/** Starts a command that goes on, and resolves when it has said something that matches. */
async function start(said: RegExp, ...command: string[]): Promise<void> {
  const environment = { ...process.env, TRIMTAB_LOCK: join(daemon.var, 'generator.lock') };
  const child = spawn(PROGRAM, command, { env: environment });
  running.push(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part) => {
      text += part;
    });
  await expect
    .poll(() => (child.exitCode === null ? text : `${text} (it has ended)`), { timeout: JOINED_MS })
    .toMatch(said);
}

test.use({ baseURL: daemon.url });

test.beforeAll(async () => {
  const listen = ['--listen', '127.0.0.1', '--port', String(PORT + 7)];
  await start(/The scheduler listens at/, 'fleet', 'serve', ...listen, '--var', daemon.var);
  const credentials = join(daemon.var, 'load1.pem');
  execFileSync(PROGRAM, ['fleet', 'invite', 'load1', '--output', credentials, '--var', daemon.var]);
  const own = ['--credentials', credentials, '--var', join(daemon.var, 'load1')];
  await start(/load1 is in the fleet/, 'station', 'join', SCHEDULER, '--role', 'generator', ...own);
  await daemon.start();
});

test.afterAll(async () => {
  for (const child of running.filter(({ exitCode }) => exitCode === null)) {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }
  await daemon.remove();
});

// `@live`: the scheduler and the generator are real.
test('a generator that has joined is shown, offered to a run, and leaves when it is drained', {
  tag: '@live',
}, async ({ page }) => {
  await page.goto('/fleet');
  const stations = page.getByRole('region', { name: 'Stations', exact: true });
  const own = stations.getByRole('row', { name: /^load1 generator / });
  await expect(own).toContainText('nothing');
  await expect(
    page.getByRole('region', { name: 'Machines' }).getByRole('row', { name: /^load1 / }),
  ).toContainText('protocol 1');
  await inspect(page, 'fleet');

  await page.goto('/tune');
  const where = page.getByRole('region', { name: 'Where' });
  await where.getByRole('combobox', { name: 'Generators' }).press('ArrowDown');
  await page.getByRole('option', { name: 'load1' }).click();

  await page.goto('/fleet');
  await own.getByRole('button', { name: 'Drain load1' }).click();
  await expect(page.getByText('No station has joined yet.')).toBeVisible();
  await expect.poll(() => running[1]?.exitCode).toBe(0);
});
