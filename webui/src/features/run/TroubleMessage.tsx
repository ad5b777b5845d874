import type { RunDetail } from '../../api/generated';
import { Message } from '../../components/Message';

/** Why a run has not come to its end, and what to do about it; nothing of a run that has met no trouble. */
export function TroubleMessage({ run: { state, error } }: { run: Pick<RunDetail, 'state' | 'error'> }) {
  if (state === 'interrupted') {
    return (
      <Message tone="warn" title="The run was interrupted.">
        {error} What it had measured is kept. Resume goes on from there.
      </Message>
    );
  }
  if (!error) return null;
  return (
    <Message tone="bad" title={state === 'failed' ? 'The run failed.' : 'The run met an error.'}>
      {error}
    </Message>
  );
}
