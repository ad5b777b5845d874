// Where scores lie on the colour scale. Scores that noise alone could set apart get the same colour: the scale has
// steps as wide as that noise, counted down from the best, so that what looks like the best may be as good.

export interface ScoreScale {
  low: number;
  high: number;
  /** How far apart two scores must be to differ in colour; 0 where the noise is not known. */
  step: number;
}

/** Two trials of one configuration differ by less than so many standard deviations of one, in 95 of 100 pairs. */
const PAIR = 1.96 * Math.SQRT2;

/** The scale of some scores; `noise` is the relative standard deviation of a single trial. Null without scores. */
export function scoreScale(scores: readonly number[], noise: number | null): ScoreScale | null {
  if (scores.length === 0) return null;
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  return { low, high, step: noise === null ? 0 : PAIR * noise * high };
}

/** With fewer steps than this a step down is not drawn as a fall to the bottom. */
const FEWEST_STEPS = 5;

const stepsDown = (score: number, { high, step }: ScoreScale): number => Math.floor((high - score) / step);

/** Place of a score on the colour scale: 1 = highest, 0 = far below; 1 when all are equal. */
export function scorePosition(score: number, scale: ScoreScale): number {
  const { low, high, step } = scale;
  if (high <= low) return 1;
  if (step <= 0) return (score - low) / (high - low);
  return 1 - stepsDown(score, scale) / Math.max(FEWEST_STEPS, stepsDown(low, scale));
}

export interface ScoreStep {
  from: number;
  to: number;
  position: number;
}

/** The steps of a scale from the best down; one for all where the noise is not known. */
export function scoreSteps(scale: ScoreScale): ScoreStep[] {
  const { low, high, step } = scale;
  if (step <= 0) return [{ from: low, to: high, position: 1 }];
  return Array.from({ length: stepsDown(low, scale) + 1 }, (_, down) => {
    const to = high - down * step;
    return { from: Math.max(low, to - step), to, position: scorePosition(to, scale) };
  });
}
