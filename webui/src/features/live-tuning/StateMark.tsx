// The state of a live session as a symbol and a word.

import {
  IconAlertTriangle,
  type IconBolt,
  IconCircleX,
  IconEye,
  IconFlask,
  IconHandStop,
  IconPlayerStop,
  IconUpload,
} from '@tabler/icons-react';
import type { LiveSessionReply, LiveState } from '../../api/generated';
import classes from './LiveTuning.module.css';
import { STATE_WORDS } from './words';

const ICONS: Record<LiveState, typeof IconBolt> = {
  observing: IconEye,
  episode: IconFlask,
  'waiting-for-a-person': IconHandStop,
  promoting: IconUpload,
  watching: IconAlertTriangle,
  ended: IconPlayerStop,
};

export function StateMark({ session }: { session: LiveSessionReply }) {
  const Icon = session.dead ? IconCircleX : ICONS[session.state];
  const tone = session.dead ? 'bad' : session.state === 'waiting-for-a-person' ? 'warn' : undefined;
  return (
    <span className={classes.mark} data-tone={tone}>
      <Icon size={15} stroke={2} aria-hidden />
      {session.dead ? 'its process is gone' : STATE_WORDS[session.state]}
    </span>
  );
}
