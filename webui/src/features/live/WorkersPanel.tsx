import type { WorkerCounters } from '../../api/generated';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { WorkersTable } from '../../counters/WorkersTable';

/** The workers of the server that runs now: whether they share the work. */
export function WorkersPanel({ workers }: { workers: readonly WorkerCounters[] }) {
  return (
    <Panel title="Workers of the server" description="In the last second." wide>
      {workers.length === 0 ? (
        <Message title="No server is running now." />
      ) : (
        <WorkersTable workers={workers} />
      )}
    </Panel>
  );
}
