import type { Gain } from '../api/generated';
import { formatConfidence, formatGain } from '../maths/format';
import classes from './GainText.module.css';

/** What an interval says where nothing else is said of it. */
const USUAL_CONFIDENCE = 0.95;

/**
 * A gain over the default with its interval, how sure that is, and whether the gain could be chance; `atLeast` where
 * nothing has shown how much it is at most.
 */
export function GainText({ gain, atLeast = false }: { gain: Gain | null; atLeast?: boolean }) {
  if (gain === null) return <>–</>;
  const known = gain.low !== null || gain.high !== null;
  return (
    <span className={classes.gain}>
      <strong>
        {atLeast && 'at least '}
        {formatGain(gain.gain)}
      </strong>
      <span className={classes.interval}>
        {known ? intervalText(gain) : 'too few repeats for an interval'}
        {known && !gain.significant && ', could be chance'}
      </span>
    </span>
  );
}

function intervalText({ low, high, confidence = USUAL_CONFIDENCE }: Gain): string {
  const interval = `${formatConfidence(confidence)} interval`;
  if (high === null) return `${interval} from ${formatGain(low)}`;
  return low === null
    ? `${interval} up to ${formatGain(high)}`
    : `${interval} ${formatGain(low)} to ${formatGain(high)}`;
}
