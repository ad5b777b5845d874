// Says whether the page hears from the daemon. (Live is a page.)

import { IconPlugConnectedX } from '@tabler/icons-react';
import { formatTime } from '../maths/format';
import type { ConnectionState } from '../stream/liveConnection';
import classes from './Connection.module.css';

const WORDS = { connecting: 'Connecting', open: 'Connected', lost: 'Disconnected' } as const;

export function ConnectionMark({ state }: { state: ConnectionState }) {
  return (
    <span className={classes.mark} data-status={state.status} role="status">
      <span className={classes.dot} aria-hidden />
      {WORDS[state.status]}
    </span>
  );
}

export function DisconnectedBanner({ state }: { state: ConnectionState }) {
  if (state.status !== 'lost') return null;
  return (
    <div className={classes.banner} role="alert">
      <IconPlugConnectedX size={18} stroke={1.75} aria-hidden />
      The connection to the daemon was lost at {formatTime(state.since)}. What you see may be out of date;
      trying again.
    </div>
  );
}
