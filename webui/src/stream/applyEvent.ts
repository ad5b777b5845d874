// What a live event changes: the caches of TanStack Query and the rows of the Live page.

import type { QueryClient } from '@tanstack/react-query';
import type { Progress, RunDetail, TrialLine } from '../api/generated';
import {
  getRunQueryKey,
  listEventsQueryKey,
  listRunsQueryKey,
} from '../api/generated/@tanstack/react-query.gen';
import { ladderSoFarKey, ofRun, progressKey } from '../api/keys';
import type { LadderSoFar } from '../api/useProgress';
import { forgetTrials, type KnownTrial, trialsKey } from '../api/useTrials';
import type { SampleStore } from '../samples/sampleStore';
import type { LiveEvent } from './events';
import { withMeasurement } from './ladderSoFar';

/** The key of a run by its number. */
const runKey = (run_id: number) => getRunQueryKey({ path: { run_id } });

export function applyEvent(client: QueryClient, store: SampleStore, { event, data }: LiveEvent): void {
  switch (event) {
    case 'sample':
      store.addSample(data);
      break;
    case 'progress':
      applyProgress(client, data);
      break;
    case 'measurement':
      client.setQueryData<LadderSoFar>(ladderSoFarKey, (known) => withMeasurement(known, data));
      break;
    case 'trial':
      applyTrial(client, data);
      break;
    case 'run':
      client.setQueryData<RunDetail>(
        runKey(data.run_id),
        (known) => known && { ...known, state: data.state, phase: data.phase },
      );
      if (data.state !== 'running') client.setQueryData(progressKey, null);
      // It may have the number of one that was deleted elsewhere, whose trials were read here.
      if (data.phase === 'preparing') forgetTrials(client, data.run_id);
      client.invalidateQueries({ queryKey: ofRun(data.run_id) });
      client.invalidateQueries({ queryKey: listRunsQueryKey() });
      break;
    case 'ladder':
      client.setQueryData<RunDetail>(
        runKey(data.run_id),
        (known) => known && { ...known, ladder: data.ladder },
      );
      forgetTrials(client, data.run_id);
      client.invalidateQueries({ queryKey: ofRun(data.run_id) });
      break;
    case 'log':
      if (data.run_id !== null)
        client.invalidateQueries({ queryKey: listEventsQueryKey({ path: { run_id: data.run_id } }) });
      break;
    case 'lost':
      forgetTrials(client);
      client.invalidateQueries();
      break;
  }
}

function applyProgress(client: QueryClient, data: Progress): void {
  client.setQueryData(progressKey, data.state === 'running' ? data : null);
}

/** The cell shows at once; its measurements come with the list that is asked for anew. */
function applyTrial(client: QueryClient, line: TrialLine): void {
  client.setQueryData<KnownTrial[]>(trialsKey(line.run_id), (known) =>
    known === undefined || known.some(({ number }) => number === line.number)
      ? known
      : [...known, { ...line, measurements: [], pending: true }],
  );
  client.invalidateQueries({ queryKey: trialsKey(line.run_id) });
  client.invalidateQueries({ queryKey: runKey(line.run_id) });
}
