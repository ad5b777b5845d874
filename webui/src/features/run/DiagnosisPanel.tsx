import { IconBulb } from '@tabler/icons-react';
import type { EvidenceChart, Fact, Finding, RunDetail } from '../../api/generated';
import { CurveChart } from '../../charts/CurveChart';
import { TextLink } from '../../components/links';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { ShareBar } from '../../components/ShareBar';
import { formatCount, formatUnit } from '../../maths/format';
import { type Rungs, rungsOf } from '../../maths/rungs';
import classes from './Run.module.css';

interface DiagnosisPanelProps {
  run: Pick<RunDetail, 'id' | 'loop'>;
  findings: readonly Finding[];
}

/** One card for each rule that fits the counters of the best configuration: what, what to do, and the evidence. */
export function DiagnosisPanel({ run, findings }: DiagnosisPanelProps) {
  const rungs = rungsOf(run.loop);
  return (
    <Panel
      title="Diagnosis"
      description="What the counters say about the limits of the configuration, each with its evidence."
    >
      {findings.length === 0 ? (
        <Message title="No rule fits what was counted." />
      ) : (
        <ul className={classes.findings}>
          {findings.map((finding) => (
            <li key={`${finding.rule} ${finding.rate_rps}`} className={classes.finding}>
              <h3>{finding.sentence}</h3>
              <p className={classes.suggestion}>
                <IconBulb size={16} aria-hidden />
                <span>
                  {finding.suggestion}
                  {finding.knob && (
                    <>
                      {' '}
                      The knob is <code>{finding.knob}</code>.
                    </>
                  )}
                </span>
              </p>
              <dl className={classes.facts}>
                {finding.facts.map((fact) => (
                  <div key={fact.name}>
                    <dt>{fact.name}</dt>
                    <dd>
                      {formatUnit(fact.value, fact.unit ?? '')}
                      {isShare(fact) && <ShareBar share={fact.value / 100} />}
                    </dd>
                  </div>
                ))}
              </dl>
              <Evidence chart={finding.chart} rungs={rungs} />
              <p className={classes.dimmed}>
                <TextLink
                  to="/runs/$id/trials/$number"
                  params={{ id: run.id, number: finding.trial }}
                  size="sm"
                  underline="always"
                >
                  Trial {finding.trial}
                </TextLink>{' '}
                at {rungs.format(finding.rate_rps)}; rule <code>{finding.rule}</code>, after {finding.source}
              </p>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** What the rule looked at, with the bound at which it fires. */
function Evidence({ chart, rungs }: { chart: EvidenceChart; rungs: Rungs }) {
  const { x_name, y_name, y_unit, series, threshold, fires } = chart;
  const inUnit = (value: number) => formatUnit(value, y_unit);
  return (
    <CurveChart
      label={`${y_name} over ${x_name}`}
      xName={x_name}
      curves={series.map(({ name, points }, style) => ({ label: name, points, style }))}
      formatX={x_name === 'rate' || x_name === 'connections' ? rungs.format : formatCount}
      formatY={inUnit}
      height={170}
      threshold={{ label: `the rule fires ${fires} ${inUnit(threshold)}`, value: threshold }}
    />
  );
}

const isShare = ({ unit, value }: Fact) => unit === '%' && value >= 0 && value <= 100;
