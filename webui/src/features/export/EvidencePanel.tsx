// What the exported configuration rests on: how it was measured, and how sure its gain is.

import type { Outcome, RunDetail } from '../../api/generated';
import { Figure, FigureList } from '../../components/Figure';
import { GainText } from '../../components/GainText';
import { TextLink } from '../../components/links';
import { Panel } from '../../components/Panel';
import { formatCount, formatMbps, formatTime } from '../../maths/format';
import { sameConfiguration } from '../../maths/knobDiff';
import { plainInText } from '../../maths/plainNames';
import classes from './ExportPage.module.css';

export function EvidencePanel({ run, outcome }: { run: RunDetail; outcome: Outcome }) {
  const { best, default: original, ranking, confirmed, remeasured } = outcome;
  const keepsDefault = best !== null && sameConfiguration(best, original);
  const chosen = ranking.find(({ configuration }) => best !== null && sameConfiguration(configuration, best));
  const standard = ranking.find(({ is_default }) => is_default);
  const repeats = chosen?.scores_mbps ?? [];
  return (
    <Panel
      title="Evidence"
      description={`${run.target} ${run.target_version} under ${run.workload}, for ${plainInText(run.objective)}, on ${run.host}; ${formatTime(run.created_at)}. It holds for this host and this workload.`}
      actions={
        <TextLink to="/runs/$id" params={{ id: run.id }} size="sm">
          All of run {run.id}
        </TextLink>
      }
    >
      <FigureList>
        <Figure
          label="Gain over the default"
          value={
            keepsDefault ? (
              'none shown'
            ) : (
              <GainText gain={outcome.capacity_gain} atLeast={outcome.capacity_at_least} />
            )
          }
          detail={keepsDefault ? 'the default is kept' : confirmed ? 'in capacity' : 'not confirmed'}
        />
        {!keepsDefault && <Figure label="Gain in score" value={<GainText gain={outcome.gain} />} />}
        <Figure
          label="Exported configuration"
          value={formatMbps(chosen?.mean_score_mbps)}
          detail={
            repeats.length === 0
              ? 'not repeated'
              : `mean of ${formatCount(repeats.filter((score) => score !== null).length)} verified repeats of ${formatCount(repeats.length)}`
          }
        />
        <Figure label="Default" value={formatMbps(standard?.mean_score_mbps)} detail="in the same blocks" />
        {remeasured && (
          <Figure
            label="The exported file itself"
            value={formatMbps(remeasured.score_mbps)}
            detail="measured once more"
          />
        )}
      </FigureList>
      {remeasured && <p className={classes.aside}>{remeasured.sentence}</p>}
    </Panel>
  );
}
