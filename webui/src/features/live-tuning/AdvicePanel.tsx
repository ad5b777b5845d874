// What a session would try next, and why.

import type { LiveSessionDetail } from '../../api/generated';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import classes from './LiveTuning.module.css';
import { adviceOf } from './words';

export function AdvicePanel({ session }: { session: LiveSessionDetail }) {
  const advice = adviceOf(session.decisions);
  return (
    <Panel
      title={session.mode === 'advise' ? 'Advice' : 'Proposals'}
      description={
        session.mode === 'advise' ? 'In this mode nothing is tried and nothing is written.' : undefined
      }
    >
      {advice.length === 0 ? (
        <Message title="Nothing is proposed yet.">
          First the traffic is observed: what it is like decides what is worth trying.
        </Message>
      ) : (
        <ol className={classes.advice}>
          {advice.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ol>
      )}
    </Panel>
  );
}
