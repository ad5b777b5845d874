// Live tuning on a real nginx that carries traffic: attached to in the browser, advised about, and left as it was; a
// candidate is tried on some of its connections, promoted, and put back.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Page } from '@playwright/test';
import { OwnDaemon, PORT } from './daemon';
import { withDemo } from './demo';
import { expect, inspect, test } from './fixtures';

withDemo(17);

const NGINX_PORT = PORT + 4;
const REQUEST_EVERY_MS = 50;
/** A minute of the traffic is observed before anything is proposed. */
const ADVICE_MS = 150_000;
/** A daemon that finds out what a file says. */
const TOLD_DAEMON = ['../../.venv/bin/python', '../../agent/tests/live_daemon.py'].map((path) =>
  resolve(import.meta.dirname, path),
);

/** An nginx of the tests' own, with somebody who asks it for something all the time. */
class BusyNginx {
  private readonly directory = mkdtempSync(join(tmpdir(), 'trimtab-e2e-nginx-'));
  readonly file = join(this.directory, 'nginx.conf');
  private process: ChildProcess | null = null;
  private asking: NodeJS.Timeout | undefined;
  /** Requests that were not answered. */
  failed = 0;

  async start(): Promise<void> {
    writeFileSync(
      this.file,
      `worker_processes 1;
      daemon off;
      pid ${this.directory}/nginx.pid;
      error_log ${this.directory}/error.log;
      events { worker_connections 256; }
      http {
        access_log ${this.directory}/access.log;
        keepalive_timeout 30s;
        server { listen 127.0.0.1:${NGINX_PORT}; location / { return 200 "hello"; } }
      }
      `,
    );
    this.process = spawn('nginx', ['-c', this.file], { stdio: 'ignore' });
    await expect.poll(() => this.answers()).toBe(true);
    this.asking = setInterval(() => void this.ask(), REQUEST_EVERY_MS);
  }

  private async ask(): Promise<void> {
    if (!(await this.answers())) this.failed += 1;
  }

  /** Whether it answers a request on a new connection. */
  answers(): Promise<boolean> {
    return new Promise((settle) => {
      get({ host: '127.0.0.1', port: NGINX_PORT, agent: false }, (reply) => {
        text(reply).then(
          (said) => settle(said === 'hello'),
          () => settle(false),
        );
      }).on('error', () => settle(false));
    });
  }

  /** The files from before a promotion that lie beside its own. */
  kept(): string[] {
    return readdirSync(this.directory).filter((name) => name.startsWith('nginx.conf.before-trimtab-'));
  }

  async remove(): Promise<void> {
    clearInterval(this.asking);
    const { process: nginx } = this;
    if (nginx !== null && nginx.exitCode === null) {
      const ended = once(nginx, 'exit');
      nginx.kill('SIGTERM');
      await ended;
    }
    rmSync(this.directory, { recursive: true, force: true });
  }
}

const chooseServer = async (page: Page) => {
  const servers = page.getByRole('combobox', { name: 'Server' });
  const option = servers.getByRole('option').filter({ hasText: `127.0.0.1:${NGINX_PORT} ` });
  await servers.selectOption((await option.getAttribute('value')) ?? '');
};

// `@live`: an nginx under load is observed.
test.describe('a server that carries traffic', { tag: '@live' }, () => {
  const nginx = new BusyNginx();
  test.beforeAll(() => nginx.start());
  test.afterAll(() => nginx.remove());

  test('is shown, and the page says how to allow that it is attached to', async ({ page }) => {
    await page.goto('/live-tuning');
    const own = page.getByRole('listitem').filter({ hasText: `127.0.0.1:${NGINX_PORT} ` });
    await own.getByText('What can be changed').click();
    await expect(own.getByRole('row', { name: /^worker_connections 256 / })).toBeVisible();
    await chooseServer(page);
    await expect(page.getByText(`TRIMTAB_LIVE_SERVERS=${NGINX_PORT}`)).toBeVisible();
    await expect(page.getByRole('button', { name: 'Attach' })).toBeDisabled();
    await inspect(page, 'live-tuning');
  });

  test.describe('by a daemon that may', () => {
    const daemon = new OwnDaemon(PORT + 3, { environment: { TRIMTAB_LIVE_SERVERS: String(NGINX_PORT) } });
    test.use({ baseURL: daemon.url });
    test.beforeAll(() => daemon.start());
    test.afterAll(() => daemon.remove());

    test('is attached to, advised about and let go, and nothing of it has changed', async ({ page }) => {
      const before = readFileSync(nginx.file, 'utf8');
      await page.goto('/live-tuning');
      await chooseServer(page);
      await page.getByRole('textbox', { name: 'Guards' }).fill('errors <= 1%');
      await page.getByRole('button', { name: 'Attach' }).click();
      await page.waitForURL(/\/live-tuning\/\d+$/);
      const now = page.getByRole('region', { name: 'Now' });
      await expect(now.getByRole('status')).toHaveText(/observing the traffic/);
      await expect(page.getByRole('list', { name: /^Decisions/ })).toContainText('Attached');

      const advice = page.getByRole('region', { name: 'Advice' }).getByRole('listitem');
      await expect(advice.first()).toContainText(/would try .* because /, { timeout: ADVICE_MS });
      await expect(page.getByRole('img', { name: /^Requests\. Now: production \d/ })).toBeVisible();
      await inspect(page, 'live-session');
      await page.setViewportSize({ width: 360, height: 740 });
      // Charts become narrower a moment later.
      await expect
        .poll(() => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth))
        .toBeLessThanOrEqual(0);
      const detach = now.getByRole('button', { name: 'Detach' });
      for (const place of [0, 1e6]) {
        await page.evaluate((top) => scrollTo(0, top), place);
        await expect(detach).toBeInViewport({ ratio: 1 });
      }

      await detach.click();
      await expect(now.getByRole('status')).toHaveText('a person has detached it');
      await expect(detach).toHaveCount(0);
      expect(readFileSync(nginx.file, 'utf8')).toBe(before);
      expect(await nginx.answers()).toBe(true);
    });
  });

  test.describe('by a daemon that finds out what it is told', () => {
    test.skip(process.getuid?.() !== 0, 'only root may share the ports of any server');
    const found = join(tmpdir(), `trimtab-e2e-found-${process.pid}`);
    const daemon = new OwnDaemon(PORT + 8, {
      environment: { TRIMTAB_LIVE_SERVERS: String(NGINX_PORT) },
      command: [...TOLD_DAEMON, found],
    });
    test.use({ baseURL: daemon.url });
    test.beforeAll(() => daemon.start());
    test.afterAll(async () => {
      await daemon.remove();
      rmSync(found, { force: true });
    });

    test('has a candidate tried, promoted by a person, and put back when it does harm', async ({ page }) => {
      const before = readFileSync(nginx.file, 'utf8');
      await page.goto('/live-tuning');
      await chooseServer(page);
      await page.getByRole('radiogroup', { name: 'Mode' }).getByText('canary', { exact: true }).click();
      await page.getByRole('button', { name: 'Attach' }).click();
      await page.waitForURL(/\/live-tuning\/\d+$/);
      const now = page.getByRole('region', { name: 'Now' });
      const proposals = page.getByRole('region', { name: 'Proposals' }).getByRole('listitem');
      const decisions = page.getByRole('list', { name: /^Decisions/ });

      await expect(proposals.first()).toContainText(/would try .* because /);
      await expect(now.getByRole('status')).toHaveText(/^trying /);
      await expect(now).toContainText(/Canary: 30.?% of the connections/);
      await expect(page.getByRole('img', { name: /^Requests\. Now: .*canary \d/ })).toBeVisible();
      expect(readFileSync(nginx.file, 'utf8')).toBe(before);

      writeFileSync(found, 'better');
      const promote = now.getByRole('button', { name: 'Promote' });
      await expect(promote).toBeVisible();
      await expect(now.getByRole('status')).toHaveText(/: promote or reject it$/);
      expect(readFileSync(nginx.file, 'utf8')).toBe(before);
      await inspect(page, 'live-session-waits');

      await promote.click();
      await expect(now.getByRole('status')).toHaveText(/^watching production for a minute/);
      await expect(decisions.getByRole('listitem').filter({ hasText: /^Promoted/ })).toContainText(
        `${nginx.file} has it`,
      );
      expect(readFileSync(nginx.file, 'utf8')).not.toBe(before);
      expect(nginx.kept()).toHaveLength(1);

      writeFileSync(found, 'harm');
      await expect(decisions.getByRole('listitem').filter({ hasText: /^Undone/ })).toContainText(
        'put back: it has become slow',
      );
      expect(readFileSync(nginx.file, 'utf8')).toBe(before);
      expect(nginx.kept()).toEqual([]);
      await expect(now.getByRole('status')).toHaveText(/^nothing is tried now: 1 rollback in a row/);

      await now.getByRole('button', { name: 'Detach' }).click();
      await expect(now.getByRole('status')).toHaveText('a person has detached it');
      expect(readFileSync(nginx.file, 'utf8')).toBe(before);
      expect(nginx.failed).toBe(0);
    });
  });
});
