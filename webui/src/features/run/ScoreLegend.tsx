import { cssColour, sequentialColour } from '../../maths/colourScale';
import { formatMbps, formatNumber, formatPercent } from '../../maths/format';
import { type ScoreScale, scoreSteps } from '../../maths/scoreScale';
import classes from './Run.module.css';

const EVEN = Array.from({ length: 16 }, (_, step) => step / 15);

interface ScoreLegendProps {
  scale: ScoreScale;
  noise: number | null;
}

/** The colours of scores, and what the same colour says. */
export function ScoreLegend({ scale, noise }: ScoreLegendProps) {
  const { low, high, step } = scale;
  const positions = step > 0 ? scoreSteps(scale).map(({ position }) => position) : EVEN.toReversed();
  return (
    <>
      <span className={classes.ramp}>
        {formatNumber(low)}
        <span className={classes.rampBar} aria-hidden>
          {positions.toReversed().map((position) => (
            <span key={position} style={{ background: cssColour(sequentialColour(position)) }} />
          ))}
        </span>
        {formatMbps(high)}
      </span>
      {step > 0 && noise !== null && (
        <span>
          same colour: less apart than noise may be, {formatMbps(step)} (single trials are taken to differ by{' '}
          {formatPercent(noise, 1)})
        </span>
      )}
    </>
  );
}
