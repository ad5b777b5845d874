// What a live event changes: the caches of TanStack Query and the rows of the Live page.

import type { QueryClient } from '@tanstack/react-query';
import type { MeasurementLine, Progress, RunDetail, TrialLine } from '../api/generated';
import { keys } from '../api/keys';
import { forgetTrials, type KnownTrial } from '../hooks/useTrials';
import type { LiveEvent } from './events';
import type { LiveStore } from './liveStore';

/** The rates already measured of the trial that is under way. */
export interface LadderSoFar {
  run_id: number;
  trial: number;
  measurements: MeasurementLine[];
}

export function applyEvent(client: QueryClient, store: LiveStore, { event, data }: LiveEvent): void {
  switch (event) {
    case 'sample':
      store.addSample(data);
      break;
    case 'progress':
      applyProgress(client, data);
      break;
    case 'measurement':
      client.setQueryData<LadderSoFar>(keys.ladderSoFar, (known) => ({
        run_id: data.run_id,
        trial: data.trial,
        measurements:
          known?.run_id === data.run_id && known.trial === data.trial
            ? [...known.measurements.filter(({ number }) => number < data.number), data]
            : [data],
      }));
      break;
    case 'trial':
      applyTrial(client, data);
      break;
    case 'run':
      client.setQueryData<RunDetail>(
        keys.run(data.run_id),
        (known) => known && { ...known, state: data.state, phase: data.phase },
      );
      if (data.state !== 'running') client.setQueryData(keys.progress, null);
      client.invalidateQueries({ queryKey: keys.run(data.run_id) });
      client.invalidateQueries({ queryKey: keys.runLists });
      break;
    case 'ladder':
      client.setQueryData<RunDetail>(
        keys.run(data.run_id),
        (known) => known && { ...known, ladder: data.ladder },
      );
      forgetTrials(client, data.run_id);
      client.invalidateQueries({ queryKey: keys.run(data.run_id) });
      client.invalidateQueries({ queryKey: keys.analysis(data.run_id) });
      break;
    case 'log':
      if (data.run_id !== null) client.invalidateQueries({ queryKey: keys.events(data.run_id) });
      break;
    case 'lost':
      forgetTrials(client);
      client.invalidateQueries();
      break;
  }
}

function applyProgress(client: QueryClient, data: Progress): void {
  client.setQueryData(keys.progress, data.state === 'running' ? data : null);
}

/** The cell shows at once; its measurements come with the list that is asked for anew. */
function applyTrial(client: QueryClient, line: TrialLine): void {
  client.setQueryData<KnownTrial[]>(keys.trials(line.run_id), (known) =>
    known === undefined || known.some(({ number }) => number === line.number)
      ? known
      : [...known, { ...line, measurements: [], pending: true }],
  );
  client.invalidateQueries({ queryKey: keys.trials(line.run_id), exact: true });
  client.invalidateQueries({ queryKey: keys.run(line.run_id), exact: true });
}
