import { QueryClient } from '@tanstack/react-query';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RunDetail, TrialLine, TrialSummary } from '../api/generated';
import {
  analyseQueryKey,
  getRunQueryKey,
  getTrialQueryKey,
} from '../api/generated/@tanstack/react-query.gen';
import { ladderSoFarKey, progressKey } from '../api/keys';
import type { LadderSoFar } from '../api/useProgress';
import { type KnownTrial, trialsKey } from '../api/useTrials';
import { SampleStore } from '../samples/sampleStore';
import { defaultConfiguration, progress, run, trial } from '../test/records';
import { applyEvent } from './applyEvent';

const path = { run_id: 7 };
const runKey = getRunQueryKey({ path });
const trialKey = getTrialQueryKey({ path: { ...path, number: 1 } });
const analysisKey = analyseQueryKey({ path });

let client: QueryClient;
let store: SampleStore;

beforeEach(() => {
  client = new QueryClient();
  store = new SampleStore();
});

const line = (number: number): TrialLine => {
  const { measurements: _, ...rest } = trial(number);
  return rest;
};

describe('applyEvent', () => {
  it('keeps the progress while a run goes and forgets it at its end', () => {
    applyEvent(client, store, { event: 'progress', data: progress({ fraction: 0.5 }) });
    expect(client.getQueryData(progressKey)).toMatchObject({ fraction: 0.5 });
    applyEvent(client, store, { event: 'run', data: { run_id: 7, state: 'stopped', phase: 'searching' } });
    expect(client.getQueryData(progressKey)).toBeNull();
  });

  it('shows a recorded trial at once and marks the list for reading again', () => {
    client.setQueryData<TrialSummary[]>(trialsKey(7), [trial(1)]);
    applyEvent(client, store, { event: 'trial', data: line(2) });
    expect(client.getQueryData<TrialSummary[]>(trialsKey(7))?.map(({ number }) => number)).toEqual([1, 2]);
    expect(client.getQueryState(trialsKey(7))?.isInvalidated).toBe(true);
  });

  it('does not show a trial twice', () => {
    client.setQueryData<TrialSummary[]>(trialsKey(7), [trial(1)]);
    applyEvent(client, store, { event: 'trial', data: line(1) });
    expect(client.getQueryData<TrialSummary[]>(trialsKey(7))).toHaveLength(1);
  });

  it('updates the state of the run it is about', () => {
    client.setQueryData<RunDetail>(runKey, run());
    applyEvent(client, store, { event: 'run', data: { run_id: 7, state: 'finished', phase: 'done' } });
    expect(client.getQueryData<RunDetail>(runKey)).toMatchObject({ state: 'finished', phase: 'done' });
  });

  it('a run that begins has none of the trials of a deleted one of the same number', () => {
    client.setQueryData<KnownTrial[]>(trialsKey(7), [trial(1)]);
    applyEvent(client, store, { event: 'run', data: { run_id: 7, state: 'running', phase: 'preparing' } });
    expect(client.getQueryData<KnownTrial[]>(trialsKey(7))?.map(({ pending }) => pending)).toEqual([true]);
    applyEvent(client, store, { event: 'trial', data: line(2) });
    applyEvent(client, store, { event: 'run', data: { run_id: 7, state: 'running', phase: 'searching' } });
    expect(client.getQueryState(trialsKey(7))?.isInvalidated).toBe(true);
  });

  it('a ladder that has grown changes the run, and has its trials and its analysis read anew', () => {
    client.setQueryData<RunDetail>(runKey, run());
    client.setQueryData<KnownTrial[]>(trialsKey(7), [trial(1), trial(2)]);
    client.setQueryData<KnownTrial[]>(trialsKey(8), [trial(1)]);
    client.setQueryData(trialKey, {});
    client.setQueryData(analysisKey, {});
    applyEvent(client, store, { event: 'ladder', data: { run_id: 7, ladder: [1000, 2000, 2500] } });
    expect(client.getQueryData<RunDetail>(runKey)?.ladder).toEqual([1000, 2000, 2500]);
    expect(client.getQueryData<KnownTrial[]>(trialsKey(7))?.map(({ pending }) => pending)).toEqual([
      true,
      true,
    ]);
    expect(client.getQueryData<KnownTrial[]>(trialsKey(8))?.[0]).not.toHaveProperty('pending');
    for (const key of [runKey, trialsKey(7), trialKey, analysisKey]) {
      expect(client.getQueryState(key)?.isInvalidated).toBe(true);
    }
  });

  it('collects the rates of the trial under way and starts over with the next trial', () => {
    const measured = (trialNumber: number, rate_rps: number, number = rate_rps / 1000) =>
      applyEvent(client, store, {
        event: 'measurement',
        data: {
          run_id: 7,
          trial: trialNumber,
          number,
          purpose: 'search',
          configuration: defaultConfiguration,
          rate_rps,
          goodput_mbps: 1,
          reply_rate_rps: 1,
          timed_out: 0,
          generator_limited: false,
        },
      });
    measured(3, 1000);
    measured(3, 2000);
    const rates = () =>
      client
        .getQueryData<LadderSoFar>(ladderSoFarKey)
        ?.measurements.map(({ number, rate_rps }) => [number, rate_rps]);
    const both = [
      [1, 1000],
      [2, 2000],
    ];
    expect(rates()).toEqual(both);
    // Told once more to whoever comes back; and a rate may be driven twice.
    measured(3, 1000);
    measured(3, 2000);
    expect(rates()).toEqual(both);
    measured(3, 2000, 3);
    expect(rates()).toEqual([...both, [3, 2000]]);
    measured(4, 1000);
    expect(client.getQueryData<LadderSoFar>(ladderSoFarKey)).toMatchObject({
      trial: 4,
      measurements: [{}],
    });
  });

  it('reads everything again when the daemon had to drop events', () => {
    client.setQueryData<RunDetail>(runKey, run());
    applyEvent(client, store, { event: 'lost', data: { events: 12 } });
    expect(client.getQueryState(runKey)?.isInvalidated).toBe(true);
  });
});
