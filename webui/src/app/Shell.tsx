// The frame round every page: navigation, the run that is going on, the state of the live stream, the theme.

import { Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { TextLink } from '../components/links';
import { useProgress } from '../hooks/useProgress';
import { useLive } from '../live/LiveProvider';
import { formatPercent } from '../maths/format';
import { ConnectionMark, DisconnectedBanner } from './Connection';
import { Logo } from './Logo';
import classes from './Shell.module.css';
import { ThemeMenu } from './ThemeMenu';

const PAGES = [
  { to: '/', label: 'Home' },
  { to: '/live', label: 'Live' },
  { to: '/tune', label: 'Tune' },
  { to: '/runs', label: 'Runs' },
  { to: '/compare', label: 'Compare' },
  { to: '/host', label: 'Host' },
] as const;

export function Shell() {
  const { state } = useLive();
  const progress = useProgress();
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
                Run {progress.run_id} · {progress.phase} · {formatPercent(progress.fraction)}
              </TextLink>
            )}
            <ConnectionMark state={state} />
            <ThemeMenu />
          </div>
        </div>
      </header>
      <DisconnectedBanner state={state} />
      <Content />
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
