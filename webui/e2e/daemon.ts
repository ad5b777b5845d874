// A daemon of a file's own: the tests of no other file are disturbed by its runs, nor by its being killed, cut off, or
// asking for a token.
//
// The page reaches it through a wire that can be cut, as a network can: every connection over it breaks, and no
// new one comes about until it is mended.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The first of the ports that these tests use. */
export const PORT = Number(process.env.TRIMTAB_E2E_PORT ?? 8097);
export const PROGRAM = resolve(import.meta.dirname, '../../.venv/bin/trimtab');
const UP = [PROGRAM, 'up'];
const READY_MS = 300_000;
const READY_EVERY_MS = 100;

interface Options {
  /** Settings of the daemon besides port and directory. */
  environment?: Record<string, string>;
  /** Its measurements are simulated. */
  demo?: boolean;
  /** Another command that begins a daemon, with the same options. */
  command?: readonly string[];
}

export class OwnDaemon {
  private process: ChildProcess | null = null;
  readonly var: string;

  constructor(
    private readonly port: number,
    private readonly options: Options = {},
  ) {
    // Playwright loads a file of tests in several processes, most of which start nothing.
    this.var = join(tmpdir(), `trimtab-e2e-${process.pid}-${port}`);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Resolves when the daemon answers. It begins with a copy of the directory `like`, if that is given. */
  async start(like?: string): Promise<void> {
    mkdirSync(this.var, { recursive: true });
    if (like !== undefined) cpSync(like, this.var, { recursive: true });
    const { environment = {}, demo = false, command: [program = '', ...first] = UP } = this.options;
    const options = ['--port', String(this.port), '--var', this.var, ...(demo ? ['--demo'] : [])];
    this.process = spawn(program, [...first, ...options], {
      env: { ...process.env, ...environment },
      stdio: 'ignore',
    });
    const until = Date.now() + READY_MS;
    while (Date.now() < until && this.process.exitCode === null) {
      if (await isReady(`${this.url}/api/v1/health`)) return;
      await new Promise((wake) => setTimeout(wake, READY_EVERY_MS));
    }
    throw new Error(`the daemon on port ${this.port} did not become ready`);
  }

  /** Sends a signal, and resolves when the daemon has ended. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { process: daemon } = this;
    this.process = null;
    if (daemon === null || daemon.exitCode !== null) return;
    const ended = once(daemon, 'exit');
    daemon.kill(signal);
    await ended;
  }

  /** Ends the daemon and removes what it has left behind. */
  async remove(): Promise<void> {
    await this.end('SIGTERM');
    rmSync(this.var, { recursive: true, force: true });
  }
}

const isReady = (address: string): Promise<boolean> =>
  fetch(address).then(
    () => true,
    () => false,
  );

/** Forwards TCP from one local port to another until it is cut. */
export class Wire {
  /** The head of each request that has come over the wire: its first line and its headers. */
  readonly requests: string[] = [];
  private server: Server | null = null;
  private readonly ends = new Set<Socket>();

  constructor(
    private readonly from: number,
    private readonly to: number,
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.from}`;
  }

  async mend(): Promise<void> {
    this.server = createServer((near) => {
      // It was on its way when the wire was cut.
      if (this.server === null) {
        near.destroy();
        return;
      }
      const far = connect(this.to, '127.0.0.1');
      near.on('data', (data) => this.requests.push(...data.toString('latin1').split(/(?=^GET )/m)));
      for (const end of [near, far]) {
        this.ends.add(end);
        end.on('error', () => end.destroy());
        end.on('close', () => {
          this.ends.delete(end);
          near.destroy();
          far.destroy();
        });
      }
      near.pipe(far).pipe(near);
    });
    this.server.listen(this.from, '127.0.0.1');
    await once(this.server, 'listening');
  }

  async cut(): Promise<void> {
    const { server } = this;
    if (server === null) return;
    this.server = null;
    const closed = once(server, 'close');
    server.close();
    for (const end of this.ends) end.destroy();
    await closed;
  }
}
