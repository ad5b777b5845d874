import type { Measurement } from '../../api/generated';
import { CurveChart } from '../../charts/CurveChart';
import { Panel } from '../../components/Panel';
import { RULE_BROKEN } from '../../maths/climb';
import { formatMbps } from '../../maths/format';
import type { Rungs } from '../../maths/rungs';

/** What the trial is scored by: its goodput over the ladder. */
export function GoodputPanel({
  rungs,
  measurements,
}: {
  rungs: Rungs;
  measurements: readonly Measurement[];
}) {
  const points = measurements.map(({ rate_rps, goodput_mbps, held }) => ({
    x: rate_rps,
    y: goodput_mbps,
    crossed: !held,
  }));
  return (
    <Panel title={`Goodput over ${rungs.over}`}>
      <CurveChart
        label={`Goodput of the trial over ${rungs.over}`}
        xName={rungs.name}
        curves={[{ label: 'goodput', style: 0, points }]}
        formatX={rungs.format}
        formatY={formatMbps}
        height={260}
        crossed={RULE_BROKEN}
      />
    </Panel>
  );
}
