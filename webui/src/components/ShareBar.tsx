import classes from './ShareBar.module.css';

/** A bar from 0 to 1, with a tick at a limit; decorative: its number stands beside it. */
export function ShareBar({ share, limit, bad = false }: { share: number; limit?: number; bad?: boolean }) {
  const percent = (of: number) => `${Math.min(1, Math.max(0, of)) * 100}%`;
  return (
    <span className={classes.track} aria-hidden>
      <span className={classes.fill} data-bad={bad || undefined} style={{ width: percent(share) }} />
      {limit !== undefined && <span className={classes.limit} style={{ left: percent(limit) }} />}
    </span>
  );
}
