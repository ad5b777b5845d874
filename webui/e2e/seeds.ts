// The runs that the tests find in a demo: one finished, one stopped, one of the capacity alone.
//
// Made before the first test by the simulated station, the same each time, and through the API as any run is. Each
// file of tests has a copy of the directory (demo.ts).

import { type APIRequestContext, request } from '@playwright/test';
import { CAPACITY, FINISHED, STOPPED, type Trial } from './api';
import { OwnDaemon, PORT } from './daemon';
import { Scenario } from './scenario';

const LOOK_EVERY_MS = 100;
/** A bound that only a fault reaches. */
const MADE_MS = 300_000;
/** The run that is stopped ends in this trial: those before it are recorded. */
const STOPPED_IN = 6;

/** Asks until the answer is as wanted; throws with the last answer when that takes too long. */
async function until<T>(api: APIRequestContext, path: string, wanted: (answer: T) => boolean): Promise<void> {
  const end = Date.now() + MADE_MS;
  for (;;) {
    const answer = (await (await api.get(`/api/v1${path}`)).json()) as T;
    if (wanted(answer)) return;
    if (Date.now() > end) throw new Error(`${path} never was as wanted: ${JSON.stringify(answer)}`);
    await new Promise((wake) => setTimeout(wake, LOOK_EVERY_MS));
  }
}

/** Starts a run, which has to get that number. */
async function start(api: APIRequestContext, id: number, spec: object): Promise<void> {
  const reply = await api.post('/api/v1/runs', { data: spec });
  const text = await reply.text();
  if (!reply.ok() || (JSON.parse(text) as { id: number }).id !== id)
    throw new Error(`expected run ${id}, and not ${text}`);
}

/** Waits until the run is in that state, and its thread has ended: the next one is not refused. */
const ended = (api: APIRequestContext, id: number, state: string) =>
  until<{ state: string; progress: object | null }>(
    api,
    `/runs/${id}`,
    (run) => run.state === state && run.progress === null,
  );

/** Returns what Playwright calls after the last test. */
export default async function seed(): Promise<() => Promise<void>> {
  const daemon = new OwnDaemon(PORT, { demo: true });
  await daemon.start();
  const scenario = new Scenario(daemon.var);
  const api = await request.newContext({ baseURL: daemon.url, timeout: MADE_MS });
  scenario.release();
  await start(api, FINISHED, { preset: 'quick' });
  await ended(api, FINISHED, 'finished');

  scenario.hold(STOPPED_IN);
  await start(api, STOPPED, { preset: 'quick', seed: 2 });
  await until<Trial[]>(api, `/runs/${STOPPED}/trials`, ({ length }) => length === STOPPED_IN - 1);
  await api.post(`/api/v1/runs/${STOPPED}/stop`);
  await ended(api, STOPPED, 'stopped');

  scenario.release();
  await start(api, CAPACITY, { preset: 'capacity' });
  await ended(api, CAPACITY, 'finished');
  await api.dispose();
  await daemon.end('SIGTERM');
  process.env.TRIMTAB_E2E_SEEDS = daemon.var;
  return () => daemon.remove();
}
