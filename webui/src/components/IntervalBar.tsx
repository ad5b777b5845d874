import type { Figure } from '../api/generated';
import classes from './IntervalBar.module.css';

interface IntervalBarProps {
  figure: Figure;
  /** The value at the end of the bar, so that bars beside each other share a scale. */
  max: number;
  /** Whether it is what the page is about, and not what that is compared with. */
  own?: boolean;
}

/** A value from zero with its interval as a whisker; decorative: its figures stand beside it. */
export function IntervalBar({ figure: { mean, low, high }, max, own = false }: IntervalBarProps) {
  const percent = (of: number) => (max > 0 ? 100 * Math.min(1, Math.max(0, of / max)) : 0);
  const [from, to] = [percent(low ?? mean), high == null ? 100 : percent(high)];
  return (
    <span className={classes.track} aria-hidden>
      <span className={classes.fill} data-own={own || undefined} style={{ width: `${percent(mean)}%` }} />
      {low != null && (
        <span
          className={classes.whisker}
          data-open={high == null || undefined}
          style={{ left: `${from}%`, width: `${to - from}%` }}
        />
      )}
    </span>
  );
}
