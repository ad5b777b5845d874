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

/** An answer of the API. Asked for again if the daemon has closed the idle connection meanwhile. */
export async function read(request: APIRequestContext, path: string): Promise<APIResponse> {
  const response = await request.get(`/api/v1${path}`, { maxRetries: 2 });
  expect(response.ok()).toBe(true);
  return response;
}

export async function get<T>(request: APIRequestContext, path: string): Promise<T> {
  return (await (await read(request, path)).json()) as T;
}

/** The run that the first test has left finished. */
export async function finishedRun(request: APIRequestContext): Promise<Run> {
  const { runs } = await get<{ runs: Run[] }>(request, '/runs?limit=100');
  const run = runs.find(({ state, preset }) => state === 'finished' && preset !== 'capacity');
  if (run === undefined) throw new Error('there is no finished run');
  return get<Run>(request, `/runs/${run.id}`);
}
