import type { Gain } from '../api/generated';
import { formatGain, formatShare } from '../maths/format';
import { confidenceMeaning, intervalText, leastText } from '../maths/intervals';
import classes from './GainText.module.css';

/** What an interval says where nothing else is said of it. */
const USUAL_CONFIDENCE = 0.95;

/**
 * A gain over the default with its interval, how sure that is, and whether the gain could be chance; `atLeast` where
 * nothing has shown how much it is at most.
 */
export function GainText({ gain, atLeast = false }: { gain: Gain | null; atLeast?: boolean }) {
  if (gain === null) return <>–</>;
  const { confidence = USUAL_CONFIDENCE } = gain;
  const known = gain.low !== null || gain.high !== null;
  if (gain.says_nothing) return <span className={classes.gain}>unknown: the repeats differ too much</span>;
  return (
    <span className={classes.gain}>
      <strong>
        {leastText(atLeast)}
        {formatGain(gain.gain)}
      </strong>
      <span className={classes.interval} title={known ? confidenceMeaning(confidence) : undefined}>
        {known
          ? `${formatShare(confidence)} interval ${intervalText(gain, formatGain)}`
          : 'too few repeats for an interval'}
        {known && !gain.significant && ', could be chance'}
      </span>
    </span>
  );
}
