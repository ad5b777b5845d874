// Why a run could not be started. When another one is going on, the way there.

import type { ApiError } from '../api/errors';
import { useProgress } from '../api/useProgress';
import { useRuns } from '../api/useRuns';
import { LinkButton } from './links';
import { Message } from './Message';

export function StartFailure({ error }: { error: Error }) {
  const conflict = (error as Partial<ApiError>).status === 409;
  return (
    <Message
      tone="bad"
      title={conflict ? 'Another run is going on.' : 'The run was not started.'}
      action={conflict && <RunningRun />}
    >
      {error.message}
    </Message>
  );
}

function RunningRun() {
  const progress = useProgress();
  const runs = useRuns(5);
  const id = progress?.run_id ?? runs.data?.runs.find(({ state }) => state === 'running')?.id;
  if (id === undefined) return null;
  return (
    <LinkButton to="/runs/$id" params={{ id }} variant="default" size="xs">
      Go to run {id}
    </LinkButton>
  );
}
