// An empty state or a failure, in words, where the content would be.

import { IconAlertTriangle, IconCircleX, IconInfoCircle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './Message.module.css';

type Tone = 'neutral' | 'warn' | 'bad';

const ICONS = { neutral: IconInfoCircle, warn: IconAlertTriangle, bad: IconCircleX };

interface MessageProps {
  title: string;
  children?: ReactNode;
  tone?: Tone;
  action?: ReactNode;
}

export function Message({ title, children, tone = 'neutral', action }: MessageProps) {
  const Icon = ICONS[tone];
  return (
    <div className={classes.message} data-tone={tone} role={tone === 'bad' ? 'alert' : undefined}>
      <Icon className={classes.icon} size={20} stroke={1.75} aria-hidden />
      <div className={classes.text}>
        <p className={classes.title}>{title}</p>
        {children && <div className={classes.detail}>{children}</div>}
      </div>
      {action}
    </div>
  );
}
