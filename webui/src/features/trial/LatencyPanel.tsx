// Where the time goes: percentiles of connecting, of the first byte, of the whole reply; and how they grow with the load.

import type { Latency, Measurement } from '../../api/generated';
import { type Curve, CurveChart } from '../../charts/CurveChart';
import { Panel } from '../../components/Panel';
import { formatMicroseconds } from '../../maths/format';
import type { Rungs } from '../../maths/rungs';
import classes from './Trial.module.css';

const PERCENTILES = [
  { name: 'p50', field: 'p50_us' },
  { name: 'p90', field: 'p90_us' },
  { name: 'p99', field: 'p99_us' },
  { name: 'p99.9', field: 'p999_us' },
  { name: 'highest', field: 'max_us' },
] as const;

const STAGES = [
  { label: 'whole reply', of: (one: Measurement) => one.reply_latency },
  { label: 'first byte', of: (one: Measurement) => one.first_byte_latency },
  { label: 'connect', of: (one: Measurement) => one.connect_latency },
] as const;

const points = (latency: Latency) =>
  PERCENTILES.flatMap(({ field }, x) => {
    const y = latency[field];
    return y === null || y <= 0 ? [] : [{ x, y }];
  });

interface LatencyPanelProps {
  rungs: Rungs;
  measurements: Measurement[];
  selected: Measurement;
}

export function LatencyPanel({ rungs, measurements, selected }: LatencyPanelProps) {
  const stages = STAGES.map(
    ({ label, of }, style): Curve => ({ label, style, points: points(of(selected)) }),
  );
  const overRates = PERCENTILES.slice(0, 4).map(
    ({ name, field }, style): Curve => ({
      label: name,
      style,
      points: measurements.flatMap(({ rate_rps, reply_latency }) => {
        const y = reply_latency[field];
        return y === null || y <= 0 ? [] : [{ x: rate_rps, y }];
      }),
    }),
  );
  const seen = stages.filter((curve) => curve.points.length > 0);
  return (
    <Panel
      title="Latency by percentile"
      description={`By percentile at ${rungs.format(selected.rate_rps)}, and over ${rungs.over}.`}
    >
      <CurveChart
        label={`Latency by percentile at ${rungs.format(selected.rate_rps)}`}
        xName="Percentile"
        curves={seen}
        formatX={(x) => PERCENTILES[x]?.name ?? ''}
        formatY={formatMicroseconds}
        height={230}
        logarithmic
        xTicks={PERCENTILES.map((_, x) => x)}
      />
      {measurements.length > 1 && (
        <div className={classes.second}>
          <h3 className={classes.chartTitle}>Whole replies over {rungs.over}</h3>
          <CurveChart
            label={`Latency of whole replies over ${rungs.over}`}
            xName={rungs.name}
            curves={overRates.filter((curve) => curve.points.length > 0)}
            formatX={rungs.format}
            formatY={formatMicroseconds}
            height={230}
            logarithmic
          />
        </div>
      )}
    </Panel>
  );
}
