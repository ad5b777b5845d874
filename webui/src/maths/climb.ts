// A climb up the rates as a curve.

interface Climbed {
  rate_rps: number;
  goodput_mbps: number;
  reply_rate_rps: number;
  generator_limited: boolean;
  held?: boolean;
}

/**
 * A climb as a curve: by rate, and of a rate that was doubted and driven again the second time, which counts. A rate
 * that the load generator could not offer says nothing of the server.
 */
export function climbOf(measurements: readonly Climbed[]) {
  const last = new Map(
    measurements
      .filter(({ generator_limited }) => !generator_limited)
      .map((one) => [one.rate_rps, { ...one, held: one.held ?? true }]),
  );
  return [...last.values()].sort((a, b) => a.rate_rps - b.rate_rps);
}

/** What is told of a rate at which the verification or a constraint did not hold. */
export const RULE_BROKEN = 'a rule broken';
