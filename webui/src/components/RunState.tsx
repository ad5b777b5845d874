// States and verdicts as a symbol and a word: never by colour alone.

import {
  IconAlertTriangle,
  IconBolt,
  IconCircleCheck,
  IconCircleX,
  IconHandStop,
  IconLoader,
  IconPlayerPause,
  IconPlayerSkipForward,
  IconPlayerStop,
  IconTimeline,
  IconVolumeOff,
} from '@tabler/icons-react';
import type { RunState, Verdict } from '../api/generated';
import classes from './RunState.module.css';

type Tone = 'good' | 'warn' | 'bad' | 'neutral';
type Icon = typeof IconBolt;

const STATES: Record<RunState, { tone: Tone; Icon: Icon }> = {
  running: { tone: 'neutral', Icon: IconLoader },
  finished: { tone: 'good', Icon: IconCircleCheck },
  stopped: { tone: 'warn', Icon: IconPlayerStop },
  failed: { tone: 'bad', Icon: IconCircleX },
  interrupted: { tone: 'warn', Icon: IconBolt },
};

const VERDICTS: Record<Verdict, { tone: Tone; Icon: Icon }> = {
  verified: { tone: 'good', Icon: IconCircleCheck },
  'failed-verification': { tone: 'bad', Icon: IconCircleX },
  rejected: { tone: 'bad', Icon: IconHandStop },
  crashed: { tone: 'bad', Icon: IconBolt },
  unresponsive: { tone: 'bad', Icon: IconVolumeOff },
  'generator-limited': { tone: 'warn', Icon: IconAlertTriangle },
  disturbed: { tone: 'warn', Icon: IconTimeline },
  'stopped-early': { tone: 'neutral', Icon: IconPlayerSkipForward },
  aborted: { tone: 'warn', Icon: IconPlayerStop },
};

function Mark({ tone, Icon, word }: { tone: Tone; Icon: Icon; word: string }) {
  return (
    <span className={classes.mark} data-tone={tone}>
      <Icon size={15} stroke={2} aria-hidden />
      {word}
    </span>
  );
}

/** `paused`: it is going on, but waits for its user. */
export function RunStateMark({ state, paused = false }: { state: RunState; paused?: boolean }) {
  if (paused && state === 'running') return <Mark tone="warn" Icon={IconPlayerPause} word="paused" />;
  return <Mark {...STATES[state]} word={state} />;
}

export function VerdictMark({ verdict }: { verdict: Verdict }) {
  return <Mark {...VERDICTS[verdict]} word={verdict} />;
}
