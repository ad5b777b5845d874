import type { Gain } from '../../api/generated';
import { confidenceMeaning } from '../../maths/intervals';
import classes from './Run.module.css';

/** What the intervals of these gains say, each kind once. */
export function ConfidenceNote({ of }: { of: readonly (Gain | null)[] }) {
  const confidences = new Set(
    of.flatMap((gain) => (gain?.confidence && gain.low !== null ? [gain.confidence] : [])),
  );
  return [...confidences].map((confidence) => (
    <p key={confidence} className={classes.dimmed}>
      {confidenceMeaning(confidence)}
    </p>
  ));
}
