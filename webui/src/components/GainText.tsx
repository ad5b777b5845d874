import type { Gain } from '../api/generated';
import { formatConfidence, formatGain } from '../maths/format';
import classes from './GainText.module.css';

/** What an interval says where nothing else is said of it. */
const USUAL_CONFIDENCE = 0.95;

/** A gain over the default with its interval, how sure that is, and whether the gain could be chance. */
export function GainText({ gain }: { gain: Gain | null }) {
  if (gain === null) return <>–</>;
  return (
    <span className={classes.gain}>
      <strong>{formatGain(gain.gain)}</strong>
      <span className={classes.interval}>
        {gain.low === null || gain.high === null
          ? 'too few repeats for an interval'
          : `${formatConfidence(gain.confidence ?? USUAL_CONFIDENCE)} interval ${formatGain(gain.low)} to ${formatGain(gain.high)}`}
        {gain.low !== null && !gain.significant && ', could be chance'}
      </span>
    </span>
  );
}
