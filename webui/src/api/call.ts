// One way of calling the API: a reply's data, or an ApiError in the daemon's own words.

import type { ErrorBody } from './generated';

/** A reply that was not a success. `status` is 0 when no reply came at all; `field` names the offending input. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly field: string | null = null,
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

interface Reply<T> {
  data?: T;
  error?: unknown;
  response?: Response;
}

function isErrorBody(body: unknown): body is ErrorBody {
  return (
    typeof body === 'object' &&
    body !== null &&
    'error' in body &&
    typeof (body as ErrorBody).error?.message === 'string'
  );
}

/** Waits for a call of the generated client; throws ApiError unless it succeeded. */
export async function call<T>(request: Promise<Reply<T>>): Promise<T> {
  const { data, error, response } = await request;
  if (response?.ok) return data as T;
  if (isErrorBody(error)) {
    const { code, message, field } = error.error;
    throw new ApiError(response?.status ?? 0, code, message, field ?? null);
  }
  if (!response) throw new ApiError(0, 'unreachable', 'The Trimtab daemon does not answer.');
  throw new ApiError(
    response.status,
    'unexpected-reply',
    `The daemon answered ${response.status} ${response.statusText}`.trim(),
  );
}
