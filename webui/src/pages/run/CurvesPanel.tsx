import { memo } from 'react';
import type { TrialSummary } from '../../api/generated';
import { type Curve, CurveChart } from '../../charts/CurveChart';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import type { LadderSoFar } from '../../live/applyEvent';
import { formatMbps } from '../../maths/format';
import type { Rungs } from '../../maths/rungs';
import { RULE_BROKEN } from './facts';

interface CurvesPanelProps {
  rungs: Rungs;
  standard: TrialSummary | undefined;
  best: TrialSummary | undefined;
  chosen: readonly TrialSummary[];
  underWay: LadderSoFar | null;
}

interface Measured {
  measurements: readonly { rate_rps: number; goodput_mbps: number; held?: boolean }[];
}

/** Goodput over the ladder: the default, the best, the trials looked at, and the one under way. */
export const CurvesPanel = memo(function CurvesPanel(props: CurvesPanelProps) {
  const { rungs, standard, best, chosen, underWay } = props;
  const named: [string, Measured | null | undefined][] = [
    ['default', standard],
    ['best', best],
    ['under way', underWay],
    ...chosen
      .filter((trial) => trial !== standard && trial !== best)
      .map((trial): [string, Measured] => [`trial ${trial.number}`, trial]),
  ];
  const curves = named.flatMap(([label, trial], style): Curve[] =>
    trial && trial.measurements.length > 0
      ? [
          {
            label,
            style,
            points: trial.measurements.map(({ rate_rps, goodput_mbps, held = true }) => ({
              x: rate_rps,
              y: goodput_mbps,
              crossed: !held,
            })),
          },
        ]
      : [],
  );
  return (
    <Panel
      title={`Goodput over ${rungs.over}`}
      description="Choose trials in the table or on the map to compare them."
    >
      {curves.length === 0 ? (
        <Message title="Nothing has been measured yet.">The curves begin with the first trial.</Message>
      ) : (
        <CurveChart
          label={`Goodput over ${rungs.over}`}
          xName={rungs.name}
          curves={curves}
          formatX={rungs.format}
          formatY={(goodput) => formatMbps(goodput)}
          height={320}
          crossed={RULE_BROKEN}
        />
      )}
    </Panel>
  );
});
