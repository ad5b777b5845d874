// What a session does now, in one sentence, with its share of the connections and its risk budget; and the buttons.
// It stays in sight: whoever wants out must not look for the way.

import { Button } from '@mantine/core';
import { IconCheck, IconPlugConnectedX, IconX } from '@tabler/icons-react';
import { useActions } from '../../actions/ActionsProvider';
import type { LiveSampleReply, LiveSessionDetail } from '../../api/generated';
import { Message } from '../../components/Message';
import { formatCount, formatPercent, formatTime } from '../../maths/format';
import classes from './LiveTuning.module.css';
import { StateMark } from './StateMark';
import { useRequests } from './useSession';

interface NowBarProps {
  session: LiveSessionDetail;
  /** The latest one. */
  sample: LiveSampleReply | null;
}

export function NowBar({ session, sample }: NowBarProps) {
  const { promote, reject, detach, isPending, error } = useRequests(session.id);
  const waits = session.state === 'waiting-for-a-person' && session.asked === null && !session.dead;
  const ends = session.ended_at === null;
  useActions([
    ...(waits
      ? [
          { title: `Promote the candidate of live session ${session.id}`, run: promote },
          { title: `Reject the candidate of live session ${session.id}`, run: reject },
        ]
      : []),
    ...(ends ? [{ title: `Detach live session ${session.id}`, run: detach }] : []),
  ]);
  const budget = sample?.data.budget;
  return (
    <section className={classes.now} aria-label="Now">
      <div className={classes.sentence}>
        <StateMark session={session} />
        <p role="status">{session.sentence || '…'}</p>
        {session.mode !== 'advise' && ends && (
          <p className={classes.dimmed}>
            Canary: {formatPercent(session.share)} of the connections.
            {budget &&
              ` Risk budget: ${formatCount(Math.max(0, budget.allowed - budget.harmed))} of ${formatCount(budget.allowed)} requests left.`}
          </p>
        )}
        {!ends && <p className={classes.dimmed}>Ended {formatTime(session.ended_at)}.</p>}
      </div>
      <div className={classes.actions}>
        {waits && (
          <>
            <Button leftSection={<IconCheck size={16} aria-hidden />} disabled={isPending} onClick={promote}>
              Promote
            </Button>
            <Button
              variant="default"
              leftSection={<IconX size={16} aria-hidden />}
              disabled={isPending}
              onClick={reject}
            >
              Reject
            </Button>
          </>
        )}
        {ends && (
          <Button
            color="red.9"
            leftSection={<IconPlugConnectedX size={16} aria-hidden />}
            disabled={session.asked === 'detach'}
            onClick={detach}
          >
            {session.asked === 'detach' ? 'Detaching' : 'Detach'}
          </Button>
        )}
      </div>
      {error && (
        <Message tone="bad" title="That could not be done.">
          {error.message}
        </Message>
      )}
    </section>
  );
}
