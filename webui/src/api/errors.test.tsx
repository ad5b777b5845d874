import { HttpResponse, http } from 'msw';
import { describe, expect, it } from 'vitest';
import { host } from '../test/records';
import { api, url } from '../test/render';
import './errors';
import { getHost, startRun } from './generated';

describe('a request', () => {
  it('gives the data of a success', async () => {
    api.use(http.get(url('/host'), () => HttpResponse.json(host)));
    await expect(getHost()).resolves.toEqual(host);
  });

  it('throws the daemon’s own sentence with the field it names', async () => {
    api.use(
      http.post(url('/runs'), () =>
        HttpResponse.json(
          { error: { code: 'bad-specification', message: 'seed = -1: expected more', field: 'seed' } },
          { status: 422 },
        ),
      ),
    );
    await expect(startRun({ body: { seed: -1 } })).rejects.toMatchObject({
      status: 422,
      code: 'bad-specification',
      message: 'seed = -1: expected more',
      field: 'seed',
    });
  });

  it('says that the daemon does not answer', async () => {
    api.use(http.get(url('/host'), () => HttpResponse.error()));
    await expect(getHost()).rejects.toMatchObject({ status: 0, code: 'unreachable' });
  });

  it('says what came when it was no error body', async () => {
    api.use(
      http.get(url('/host'), () => new HttpResponse('oops', { status: 502, statusText: 'Bad Gateway' })),
    );
    await expect(getHost()).rejects.toThrow('The daemon answered 502 Bad Gateway');
  });

  it('that is aborted says so, and not that the daemon does not answer', async () => {
    api.use(http.get(url('/host'), () => HttpResponse.json(host)));
    const signal = AbortSignal.abort();
    await expect(getHost({ signal })).rejects.toMatchObject({ name: 'AbortError' });
  });
});
