// The frame round every page: navigation, the run that is going on, the state of the live stream, the theme.

import { ActionIcon } from '@mantine/core';
import { IconCommand } from '@tabler/icons-react';
import { Outlet, useRouterState } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useActions } from '../actions/ActionsProvider';
import { Palette } from '../actions/Palette';
import { useProgress } from '../api/useProgress';
import { TextLink } from '../components/links';
import { doingOf } from '../maths/doing';
import { formatPercent } from '../maths/format';
import { useLive } from '../stream/LiveProvider';
import { ConnectionMark, DisconnectedBanner } from './Connection';
import { DemoBanner } from './DemoBanner';
import { EndNoticeButton } from './EndNoticeButton';
import { Footer } from './Footer';
import { PAGES, useFrameActions } from './frameActions';
import { Logo } from './Logo';
import classes from './Shell.module.css';
import { ThemeMenu } from './ThemeMenu';

export function Shell() {
  const { state } = useLive();
  const progress = useProgress();
  const [palette, setPalette] = useState(false);
  const openPalette = useCallback(() => setPalette(true), []);
  useActions(useFrameActions(openPalette));
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'k') return;
      event.preventDefault();
      openPalette();
    };
    window.addEventListener('keydown', open);
    return () => window.removeEventListener('keydown', open);
  }, [openPalette]);
  return (
    <>
      <a className={classes.skip} href="#content">
        Skip to content
      </a>
      <header className={classes.header}>
        <div className={classes.bar}>
          <TextLink to="/" className={classes.brand} underline="never" aria-label="Trimtab, first page">
            <Logo />
            <span aria-hidden>Trimtab</span>
          </TextLink>
          <nav aria-label="Pages" className={classes.nav}>
            {PAGES.map(({ to, label }) => (
              <TextLink
                key={to}
                to={to}
                className={classes.navLink}
                underline="never"
                activeOptions={{ exact: to === '/' }}
                activeProps={{ 'data-active': true }}
              >
                {label}
              </TextLink>
            ))}
          </nav>
          <div className={classes.aside}>
            {progress && (
              <TextLink
                to="/runs/$id"
                params={{ id: progress.run_id }}
                className={classes.running}
                underline="never"
              >
                Run {progress.run_id} · {doingOf(progress)} · {formatPercent(progress.fraction)}
              </TextLink>
            )}
            <EndNoticeButton running={progress !== null} />
            <ConnectionMark state={state} />
            <ActionIcon variant="default" size="md" aria-label="Actions and keys" onClick={openPalette}>
              <IconCommand size={16} stroke={1.75} aria-hidden />
            </ActionIcon>
            <ThemeMenu />
          </div>
        </div>
      </header>
      <DemoBanner />
      <DisconnectedBanner state={state} />
      <Content />
      <Footer />
      <Palette open={palette} onClose={() => setPalette(false)} />
    </>
  );
}

/** Takes the focus after a change of page, so that a screen reader starts with the new page. */
function Content() {
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  const main = useRef<HTMLElement>(null);
  const shown = useRef(pathname);
  useEffect(() => {
    if (shown.current !== pathname) main.current?.focus({ preventScroll: true });
    shown.current = pathname;
  }, [pathname]);
  return (
    <main id="content" ref={main} tabIndex={-1} className={classes.main}>
      <Outlet />
    </main>
  );
}
