// The fleet: the stations of all hosts, what each does now, what they are, and how their hosts differ.

import type { FleetView } from '../../api/generated';
import { useFleet } from '../../api/useFleet';
import { Loadable } from '../../components/Loadable';
import { Message } from '../../components/Message';
import { Page } from '../../components/Page';
import { LevelsPanel } from './LevelsPanel';
import { MachinesPanel } from './MachinesPanel';
import { StationsPanel } from './StationsPanel';

export function FleetPage() {
  const fleet = useFleet({ live: true });
  return (
    <Page
      title="Fleet"
      description="Hosts that run servers and hosts that load them, joined to one scheduler. A run that uses them is started on the Tune page."
    >
      <Loadable query={fleet} what="The fleet" height={320}>
        {(seen) => <Seen fleet={seen} />}
      </Loadable>
    </Page>
  );
}

function Seen({ fleet: { complaint, scheduler, stations } }: { fleet: FleetView }) {
  return (
    <>
      {complaint && (
        <Message
          tone={stations.length > 0 ? 'warn' : 'neutral'}
          title={`The scheduler at ${scheduler} was not asked: ${complaint}`}
        />
      )}
      <StationsPanel stations={stations} />
      {stations.length > 0 && <MachinesPanel stations={stations} />}
      {stations.some(({ level }) => level !== null) && <LevelsPanel stations={stations} />}
    </>
  );
}
