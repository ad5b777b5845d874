import { memo } from 'react';
import type { Outcome, TrialSummary } from '../../api/generated';
import type { LadderSoFar } from '../../api/useProgress';
import { type Curve, CurveChart, type Mark } from '../../charts/CurveChart';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { RULE_BROKEN } from '../../maths/climb';
import { formatMbps, formatMicroseconds } from '../../maths/format';
import { leastText } from '../../maths/intervals';
import { sameConfiguration } from '../../maths/knobDiff';
import type { Rungs } from '../../maths/rungs';

interface CurvesPanelProps {
  rungs: Rungs;
  outcome: Outcome | null;
  standard: TrialSummary | undefined;
  best: TrialSummary | undefined;
  chosen: readonly TrialSummary[];
  underWay: LadderSoFar | null;
}

interface Measured {
  measurements: readonly {
    rate_rps: number;
    goodput_mbps: number;
    held?: boolean;
    reply_latency?: { p99_us: number | null };
  }[];
}

const [DEFAULT_STYLE, BEST_STYLE] = [0, 1];

/** Goodput and p99 over the ladder: the default, the best, the trials looked at, and the one under way. */
export const CurvesPanel = memo(function CurvesPanel(props: CurvesPanelProps) {
  const { rungs, outcome, standard, best, chosen, underWay } = props;
  const named: [string, Measured | null | undefined][] = [
    ['default', standard],
    ['best', best],
    ['under way', underWay],
    ...chosen
      .filter((trial) => trial !== standard && trial !== best)
      .map((trial): [string, Measured] => [`trial ${trial.number}`, trial]),
  ];
  const curves = curvesOf(named, ({ goodput_mbps }) => goodput_mbps);
  const tails = curvesOf(named, ({ reply_latency }) => reply_latency?.p99_us ?? null);
  return (
    <Panel
      title={`Goodput and p99 over ${rungs.over}`}
      description="Choose trials in the table or on the map to compare them."
    >
      {curves.length === 0 ? (
        <Message title="Nothing has been measured yet.">The curves begin with the first trial.</Message>
      ) : (
        <CurveChart
          label={`Goodput and p99 over ${rungs.over}`}
          xName={rungs.name}
          curves={curves}
          formatX={rungs.format}
          formatY={formatMbps}
          yName="Goodput"
          lower={
            tails.length > 0 ? { name: 'Latency p99', curves: tails, formatY: formatMicroseconds } : undefined
          }
          height={400}
          crossed={RULE_BROKEN}
          marks={capacityMarks(outcome, rungs)}
        />
      )}
    </Panel>
  );
});

function curvesOf(
  named: readonly [string, Measured | null | undefined][],
  value: (measurement: Measured['measurements'][number]) => number | null,
): Curve[] {
  return named.flatMap(([label, trial], style): Curve[] => {
    const points = (trial?.measurements ?? []).flatMap((measurement) => {
      const y = value(measurement);
      return y === null ? [] : [{ x: measurement.rate_rps, y, crossed: !(measurement.held ?? true) }];
    });
    return points.length === 0 ? [] : [{ label, style, points }];
  });
}

/** Where the default and the recommended configuration stop following, by the confirmation. */
function capacityMarks(outcome: Outcome | null, rungs: Rungs): Mark[] {
  return (outcome?.ranking ?? []).flatMap(({ configuration, is_default, performance }): Mark[] => {
    const isBest = sameConfiguration(configuration, outcome?.best);
    const capacity = performance?.capacity_rps;
    if (!capacity || !(isBest || is_default)) return [];
    const least = leastText(performance.at_least);
    return [
      {
        label: `capacity of the ${is_default ? 'default' : 'best'} ${least}${rungs.format(capacity.mean)}`,
        value: capacity.mean,
        style: is_default ? DEFAULT_STYLE : BEST_STYLE,
      },
    ];
  });
}
