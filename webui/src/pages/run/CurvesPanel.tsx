import type { TrialSummary } from '../../api/generated';
import { type Curve, CurveChart } from '../../charts/CurveChart';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import type { LadderSoFar } from '../../live/applyEvent';
import { formatMbps, formatRate } from '../../maths/format';

interface CurvesPanelProps {
  standard: TrialSummary | undefined;
  best: TrialSummary | undefined;
  selected: TrialSummary | undefined;
  underWay: LadderSoFar | null;
}

/** Goodput over the ladder: the default, the best, the trial looked at, and the one under way. */
export function CurvesPanel({ standard, best, selected, underWay }: CurvesPanelProps) {
  const curves: Curve[] = [
    { label: 'default', trial: standard },
    { label: 'best', trial: best },
    {
      label: `trial ${selected?.number}`,
      trial: selected === standard || selected === best ? undefined : selected,
    },
    { label: 'under way', trial: underWay },
  ].flatMap(({ label, trial }, style) =>
    trial && trial.measurements.length > 0
      ? [
          {
            label,
            style,
            points: trial.measurements.map(({ rate_rps, goodput_mbps }) => ({
              x: rate_rps,
              y: goodput_mbps,
            })),
          },
        ]
      : [],
  );
  return (
    <Panel
      title="Goodput over offered rate"
      description="Choose a trial in the table or on the map to compare it."
    >
      {curves.length === 0 ? (
        <Message title="Nothing has been measured yet.">The curves begin with the first trial.</Message>
      ) : (
        <CurveChart
          label="Goodput over offered rate"
          xName="Rate"
          curves={curves}
          formatX={(rate) => formatRate(rate)}
          formatY={(goodput) => formatMbps(goodput)}
          height={320}
        />
      )}
    </Panel>
  );
}
