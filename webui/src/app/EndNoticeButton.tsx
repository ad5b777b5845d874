import { ActionIcon } from '@mantine/core';
import { IconBell, IconBellFilled, IconBellOff } from '@tabler/icons-react';
import { useActions } from '../actions/ActionsProvider';
import { useEndNotice } from './useEndNotice';

/** Asks for a notification when the run that goes on has ended; there while one does. */
export function EndNoticeButton({ running }: { running: boolean }) {
  const notice = useEndNotice();
  const offered = running && notice !== null && !notice.refused;
  const title = notice?.on ? 'Do not notify me when the run ends' : 'Notify me when the run ends';
  useActions(offered ? [{ title, run: notice.turn }] : []);
  if (!running || notice === null) return null;
  const label = notice.refused ? 'The browser refuses notifications of this page' : title;
  const Icon = notice.refused ? IconBellOff : notice.on ? IconBellFilled : IconBell;
  return (
    <ActionIcon
      variant="default"
      size="md"
      aria-label={label}
      title={label}
      disabled={notice.refused}
      onClick={notice.turn}
    >
      <Icon size={16} stroke={1.75} aria-hidden />
    </ActionIcon>
  );
}
