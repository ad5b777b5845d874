// What a request that fails throws: an ApiError in the daemon's own words. Importing this file has the generated client
// throw it.

import type { ErrorBody } from './generated';
import { client } from './generated/client.gen';

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

function isErrorBody(body: unknown): body is ErrorBody {
  return (
    typeof body === 'object' &&
    body !== null &&
    'error' in body &&
    typeof (body as ErrorBody).error?.message === 'string'
  );
}

/** The error of a reply's body, or of no reply at all; a request that was aborted keeps its own. */
function apiError(body: unknown, response: Response | undefined, request: Request): unknown {
  if (request.signal.aborted) return body;
  if (!response) return new ApiError(0, 'unreachable', 'The Trimtab daemon does not answer.');
  if (isErrorBody(body)) {
    const { code, message, field } = body.error;
    return new ApiError(response.status, code, message, field ?? null);
  }
  const status = `${response.status} ${response.statusText}`.trim();
  return new ApiError(response.status, 'unexpected-reply', `The daemon answered ${status}`);
}

client.interceptors.error.use(apiError);
