// One live session: what it does now, what its arms do, what it has decided, and the ways to answer and to end it.

import { getRouteApi } from '@tanstack/react-router';
import type { LiveSessionDetail } from '../../api/generated';
import { Loadable } from '../../components/Loadable';
import { Message } from '../../components/Message';
import { Page } from '../../components/Page';
import { AdvicePanel } from './AdvicePanel';
import { ArmsPanels } from './ArmsPanels';
import { DecisionsPanel } from './DecisionsPanel';
import { NowBar } from './NowBar';
import { TrafficPanel } from './TrafficPanel';
import { useSamples, useSession } from './useSession';
import { serverTitle } from './words';

const route = getRouteApi('/live-tuning/$id');

export function SessionPage() {
  const { id } = route.useParams();
  const session = useSession(id);
  return (
    <Page
      title={`Live session ${id}`}
      description={
        session.data &&
        `${serverTitle({ ...session.data, unit: session.data.unit || null })}, mode ${session.data.mode}, ${session.data.file}.`
      }
    >
      <Loadable query={session} what="The session" height={320}>
        {(data) => <Session session={data} />}
      </Loadable>
    </Page>
  );
}

function Session({ session }: { session: LiveSessionDetail }) {
  const goesOn = session.ended_at === null && !session.dead;
  const samples = useSamples(session.id, goesOn);
  const { not_observed: notObserved } = session.settings;
  return (
    <>
      <NowBar session={session} sample={samples.data?.at(-1) ?? null} />
      {session.dead && (
        <Message tone="bad" title="The Trimtab process behind it is gone.">
          Its keeper gives production all connections again; Detach ends the session here as well.
        </Message>
      )}
      {typeof notObserved === 'string' && notObserved !== '' && <Message title={notObserved} />}
      {goesOn && <AdvicePanel session={session} />}
      <Loadable query={samples} what="What the servers did" height={240}>
        {(rows) => <ArmsPanels samples={rows} goesOn={goesOn} tries={session.mode !== 'advise'} />}
      </Loadable>
      <TrafficPanel session={session} />
      <DecisionsPanel decisions={session.decisions} />
    </>
  );
}
