// What the daemon's API says, to compare with what the pages show.

import type { APIRequestContext, APIResponse } from '@playwright/test';
import { expect } from './fixtures';

export interface Run {
  id: number;
  state: string;
  preset: string;
  trials: number;
  outcome: { best: Record<string, string | number> };
}

export interface Export {
  format: string;
  file_name: string;
  text: string;
  check_ok: boolean;
  check_command: string;
}

export interface Trial {
  number: number;
  purpose: string;
  configuration: Record<string, string | number>;
  server_config: string;
}

/** A bound and not a measure: on a busy machine everything takes long. */
const ANSWER_MS = 120_000;

/** An answer of the API. Asked for again if the daemon has closed the idle connection meanwhile. */
export async function read(request: APIRequestContext, path: string): Promise<APIResponse> {
  const response = await request.get(`/api/v1${path}`, { maxRetries: 2, timeout: ANSWER_MS });
  expect(response.ok()).toBe(true);
  return response;
}

export async function get<T>(request: APIRequestContext, path: string): Promise<T> {
  return (await (await read(request, path)).json()) as T;
}

/** When the samples of the last minute were taken, in seconds since the epoch. */
async function sampleTimes(request: APIRequestContext): Promise<number[]> {
  const samples = await get<{ values: { time: number } }[]>(request, '/counters?seconds=60&step_s=1');
  return samples.map(({ values }) => values.time);
}

export const newestSample = async (request: APIRequestContext) => (await sampleTimes(request)).at(-1) ?? 0;

/** The time from the oldest to the newest sample of the last minute. */
export async function sampledSeconds(request: APIRequestContext): Promise<number> {
  const times = await sampleTimes(request);
  return (times.at(-1) ?? 0) - (times[0] ?? 0);
}

/** Stops whatever a test has left running. */
export async function stopRuns(request: APIRequestContext): Promise<void> {
  const running = async () => {
    const { runs } = await get<{ runs: Run[] }>(request, '/runs?limit=100');
    return runs.filter(({ state }) => state === 'running').map(({ id }) => id);
  };
  for (const id of await running())
    await request.post(`/api/v1/runs/${id}/stop`, { maxRetries: 2, timeout: ANSWER_MS });
  await expect.poll(running, { timeout: 120_000 }).toEqual([]);
}

/** The runs that there are before the first test (seeds.ts), by number. */
export const FINISHED = 1;
export const STOPPED = 2;
export const CAPACITY = 3;

/** The run that was finished before the first test. */
export const finishedRun = (request: APIRequestContext) => get<Run>(request, `/runs/${FINISHED}`);
