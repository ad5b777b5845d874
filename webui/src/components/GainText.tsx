import type { Gain } from '../api/generated';
import { formatGain } from '../maths/format';
import classes from './GainText.module.css';

/** A gain over the default with its 95 % interval, and whether it could be chance. */
export function GainText({ gain }: { gain: Gain | null }) {
  if (gain === null) return <>–</>;
  return (
    <span className={classes.gain}>
      <strong>{formatGain(gain.gain)}</strong>
      <span className={classes.interval}>
        {gain.low === null || gain.high === null
          ? 'too few repeats for an interval'
          : `${formatGain(gain.low)} to ${formatGain(gain.high)}`}
        {gain.low !== null && !gain.significant && ', could be chance'}
      </span>
    </span>
  );
}
