// What a list of runs shows that has none: that there has been none yet, or that all of them are in the archive.

import type { ReactNode } from 'react';
import { useRuns } from '../api/useRuns';
import { formatCount } from '../maths/format';
import { LinkButton } from './links';
import { Message } from './Message';

interface NoRunsProps {
  /** What to do about it where there has been none. */
  action?: ReactNode;
  children?: ReactNode;
}

export function NoRuns({ action, children }: NoRunsProps) {
  const { data } = useRuns(1, 0, true);
  if (data === undefined || data.total === 0)
    return (
      <Message title="There has been no run yet." action={action}>
        {children}
      </Message>
    );
  return (
    <Message
      title={
        data.total === 1
          ? 'The one run is in the archive.'
          : `All ${formatCount(data.total)} runs are in the archive.`
      }
      action={
        <LinkButton to="/runs" search={{ archived: true }} size="xs" variant="default">
          Show the archive
        </LinkButton>
      }
    />
  );
}
