import { IconBulb } from '@tabler/icons-react';
import type { EvidenceChart, Fact, Finding, RunDetail } from '../../api/generated';
import { CurveChart } from '../../charts/CurveChart';
import { TextLink } from '../../components/links';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { ShareBar } from '../../components/ShareBar';
import { formatUnit } from '../../maths/format';
import { rungsOf } from '../../maths/rungs';
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
              <Evidence chart={finding.chart} />
              <p className={classes.dimmed}>
                <TextLink
                  to="/runs/$id/trials/$number"
                  params={{ id: run.id, number: finding.trial }}
                  size="sm"
                  underline="always"
                >
                  Trial {finding.trial}
                </TextLink>{' '}
                at {rungs.format(finding.rate_rps)}
              </p>
              <details className={classes.dimmed}>
                <summary>Where the rule comes from</summary>
                <code>{finding.rule}</code>, after {finding.source}
              </details>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** What the rule looked at, with the bound at which it fires. */
function Evidence({ chart }: { chart: EvidenceChart }) {
  const { x_name, x_unit, y_name, y_unit, series, threshold, fires } = chart;
  const inUnit = (value: number) => formatUnit(value, y_unit);
  return (
    <CurveChart
      label={`${y_name} over ${x_name}`}
      xName={x_name}
      curves={series.map(({ name, points }, style) => ({ label: name, points, style }))}
      formatX={(value) => formatUnit(value, x_unit)}
      formatY={inUnit}
      height={170}
      threshold={{ label: `the rule fires ${fires} ${inUnit(threshold)}`, value: threshold }}
    />
  );
}

const isShare = ({ unit, value }: Fact) => unit === '%' && value >= 0 && value <= 100;
