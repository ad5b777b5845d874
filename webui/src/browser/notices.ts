// Notifications of the browser, where it has them: not over plain http of another host, and not in every browser.

/** What its user has allowed; `missing` where pages have no notifications. */
export type NoticePermission = NotificationPermission | 'missing';

export const noticePermission = (): NoticePermission =>
  'Notification' in globalThis && globalThis.isSecureContext ? Notification.permission : 'missing';

/** Asks the user, which browsers allow after a click only; whether notices may be shown now. */
export async function askForNotices(): Promise<boolean> {
  if (noticePermission() === 'missing') return false;
  return (await Notification.requestPermission()) === 'granted';
}

export interface Notice {
  title: string;
  body: string;
  /** A notice replaces the one with the same tag: several tabs tell the same once. */
  tag: string;
  onClick: () => void;
}

export function showNotice({ title, body, tag, onClick }: Notice): void {
  try {
    const notice = new Notification(title, { body, tag });
    notice.onclick = () => {
      window.focus();
      onClick();
      notice.close();
    };
  } catch {
    // Some browsers of telephones have the name only; what the page shows has to do.
  }
}
