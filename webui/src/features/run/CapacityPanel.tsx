// What a run without a search has found: the load that the configuration follows, and the climb that shows it.

import type { RunDetail, TrialSummary } from '../../api/generated';
import type { LadderSoFar } from '../../api/useProgress';
import { CurveChart } from '../../charts/CurveChart';
import { Figure, FigureList } from '../../components/Figure';
import { KnobChips } from '../../components/KnobChips';
import { TextLink } from '../../components/links';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { climbOf, RULE_BROKEN } from '../../maths/climb';
import { formatMbps, formatRate } from '../../maths/format';
import { leastText } from '../../maths/intervals';
import { defaultConfiguration } from '../../maths/space';
import { CsvLinks } from './CsvLinks';
import { Headline } from './Headline';
import classes from './Run.module.css';

const REPLIES_HEIGHT = 1.4;

interface CapacityPanelProps {
  run: RunDetail;
  trials: readonly TrialSummary[];
  underWay: LadderSoFar | null;
}

export function CapacityPanel({ run, trials, underWay }: CapacityPanelProps) {
  const trial = trials.findLast(({ measurements }) => measurements.length > 0);
  const driven = underWay?.measurements.length ? underWay.measurements : (trial?.measurements ?? []);
  const climb = climbOf(driven);
  const capacity = run.outcome?.capacity;
  const failed = run.state === 'failed';
  const followed = capacity?.capacity_rps?.mean;
  const marks =
    followed === undefined
      ? []
      : [{ label: `follows ${leastText(capacity?.at_least)}${formatRate(followed)}`, value: followed }];
  const points = (y: (one: (typeof climb)[number]) => number) =>
    climb.map((one) => ({ x: one.rate_rps, y: y(one), crossed: !one.held }));
  // A climb overshoots; drawn to its end, what is offered would leave the replies no height.
  const most = REPLIES_HEIGHT * Math.max(...climb.map(({ reply_rate_rps }) => reply_rate_rps));
  const offered = climb.flatMap(({ rate_rps }) => (rate_rps > most ? [] : [{ x: rate_rps, y: rate_rps }]));
  const words = capacity ? run.outcome?.beyond_figures : run.outcome?.sentence;
  return (
    <Panel
      title="Capacity"
      description="One climb with the configuration as it is, to the load that it follows."
    >
      {capacity && (
        <>
          <FigureList>
            <Headline own={capacity} />
          </FigureList>
          <FigureList>
            <Figure label="Configuration" value={<KnobChips of={defaultConfiguration(run.space)} />} />
          </FigureList>
        </>
      )}
      {words && !failed && <p className={classes.inWords}>{words}</p>}
      {failed ? (
        <Message title="There is no result to draw.">The run failed; why stands above.</Message>
      ) : climb.length === 0 ? (
        <NoCurve running={run.state === 'running'} driven={driven.length > 0} />
      ) : (
        <div className={classes.halves}>
          <div>
            <h3 className={classes.chartTitle}>Replies over offered rate</h3>
            <CurveChart
              label="Replies over offered rate"
              xName="Rate"
              curves={[
                { label: 'replies', style: 0, points: points(({ reply_rate_rps }) => reply_rate_rps) },
                ...(offered.length > 0 ? [{ label: 'all that is offered', style: 2, points: offered }] : []),
              ]}
              formatX={formatRate}
              formatY={formatRate}
              height={280}
              crossed={RULE_BROKEN}
              marks={marks}
            />
          </div>
          <div>
            <h3 className={classes.chartTitle}>Goodput over offered rate</h3>
            <CurveChart
              label="Goodput over offered rate"
              xName="Rate"
              curves={[{ label: 'goodput', style: 0, points: points(({ goodput_mbps }) => goodput_mbps) }]}
              formatX={formatRate}
              formatY={formatMbps}
              height={280}
              crossed={RULE_BROKEN}
              marks={marks}
            />
          </div>
        </div>
      )}
      {trial && (
        <p className={classes.dimmed}>
          Every rate with its latencies, timeouts and counters:{' '}
          <TextLink
            to="/runs/$id/trials/$number"
            params={{ id: run.id, number: trial.number }}
            size="sm"
            underline="always"
          >
            trial {trial.number}
          </TextLink>
          . As tables: <CsvLinks runId={run.id} />
        </p>
      )}
    </Panel>
  );
}

/** Why there is no climb to draw. */
function NoCurve({ running, driven }: { running: boolean; driven: boolean }) {
  if (driven) {
    return (
      <Message title="The load generator could offer none of the rates.">
        Such a rate says nothing of the server. Give the generator more CPUs, or a lighter workload.
      </Message>
    );
  }
  return running ? (
    <Message title="Nothing has been measured yet.">The curves begin with the first rate.</Message>
  ) : (
    <Message title="Nothing was measured.">The run ended before its first rate.</Message>
  );
}
