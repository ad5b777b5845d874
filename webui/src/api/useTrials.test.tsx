import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import { trial } from '../test/records';
import { api, url } from '../test/render';
import type { TrialSummary } from './generated';
import { forgetTrials, trialsKey, trialsQuery } from './useTrials';

const scores = (client: QueryClient) =>
  client.getQueryData<TrialSummary[]>(trialsKey(7))?.map(({ score }) => score);

/** Serves trials whose score is that of the answer's place in the order of requests. */
function serve(held?: Promise<void>) {
  const asked: number[] = [];
  api.use(
    http.get(url('/runs/7/trials'), async ({ request }) => {
      const score = asked.push(Number(new URL(request.url).searchParams.get('after')));
      if (score === 1) await held;
      return HttpResponse.json([trial(1, { score }), trial(2, { score })]);
    }),
  );
  return asked;
}

it('reads on after the last trial, and from the beginning once the list was forgotten', async () => {
  const client = new QueryClient();
  const asked = serve();
  await client.fetchQuery(trialsQuery(client, 7));
  forgetTrials(client, 7);
  expect(scores(client)).toEqual([1, 1]);
  await client.fetchQuery(trialsQuery(client, 7));
  expect(asked).toEqual([0, 0]);
  expect(scores(client)).toEqual([2, 2]);
});

it('throws away what was on its way when the list was forgotten', async () => {
  const client = new QueryClient();
  let release = () => {};
  const asked = serve(
    new Promise((resolve) => {
      release = resolve;
    }),
  );
  const stop = new QueryObserver(client, trialsQuery(client, 7)).subscribe(() => {});
  await expect.poll(() => asked.length).toBe(1);
  forgetTrials(client, 7);
  await client.invalidateQueries({ queryKey: trialsKey(7) });
  release();
  await expect.poll(() => scores(client)).toEqual([2, 2]);
  stop();
});
