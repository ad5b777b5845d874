// Why a run has no files, and how they are had.

import type { RunDetail } from '../../api/generated';
import { Message } from '../../components/Message';

export function NoExports({ run }: { run: Pick<RunDetail, 'id' | 'state' | 'outcome'> }) {
  if (run.state === 'running') {
    return (
      <Message title="This run has no exports yet.">They are written when the confirmation is done.</Message>
    );
  }
  return (
    <Message title="This run has no exports.">
      They are written at the end of a confirmation, which this run did not come to.
      {run.outcome?.best && (
        <>
          {' '}
          In a terminal <code>trimtab export {run.id}</code> writes at once those of the best so far, which is
          not confirmed.
        </>
      )}
    </Message>
  );
}
