// The answer: the outcome once there is one, until then the best so far.

import type { Outcome, RunDetail, TrialSummary } from '../../api/generated';
import { Figure, FigureList } from '../../components/Figure';
import { GainText } from '../../components/GainText';
import { KnobChips } from '../../components/KnobChips';
import { Panel } from '../../components/Panel';
import { formatGain, formatMbps } from '../../maths/format';
import { sameConfiguration } from '../../maths/knobDiff';
import { Changes } from './Changes';
import { ConfidenceNote } from './ConfidenceNote';
import { FinalistsTable } from './FinalistsTable';
import { freePart, gainOver } from './facts';
import { finalists } from './finalists';
import { Headline } from './Headline';
import classes from './Run.module.css';

interface OutcomePanelProps {
  run: RunDetail;
  standard: TrialSummary | undefined;
  best: TrialSummary | undefined;
}

export function OutcomePanel({ run, standard, best }: OutcomePanelProps) {
  if (run.outcome) return <Found run={run} outcome={run.outcome} />;
  return (
    <Panel
      title="Best so far"
      description="By one trial each; the confirmation at the end says how sure the gain is."
    >
      <FigureList>
        <Figure
          label="Default"
          value={formatMbps(standard?.score)}
          detail={standard ? undefined : 'not measured yet'}
        />
        <Figure
          label="Best"
          value={formatMbps(best?.score ?? standard?.score)}
          detail={best ? undefined : standard && 'the default, so far'}
        />
        <Figure
          label="Gain over the default"
          value={formatGain(gainOver(best?.score, standard?.score))}
          detail="no interval yet"
        />
        {best && (
          <Figure label="Configuration" value={<KnobChips of={freePart(best.configuration, run.space)} />} />
        )}
      </FigureList>
    </Panel>
  );
}

function Found({ run, outcome }: { run: RunDetail; outcome: Outcome }) {
  const { confirmed, best, gain, sentence } = outcome;
  const isDefault = best !== null && sameConfiguration(best, outcome.default);
  const people = finalists(outcome);
  const own = people.find(({ isBest }) => isBest);
  const standard = isDefault ? undefined : people.find(({ ranked }) => ranked.is_default);
  return (
    <Panel title="Outcome">
      <div className={classes.recommended}>
        <FigureList>
          {best && (
            <Figure
              label={confirmed || isDefault ? 'Configuration to use' : 'Best of the search'}
              value={<KnobChips of={freePart(best, run.space)} />}
            />
          )}
          <Figure
            label={own ? 'Gain in score' : 'Gain over the default'}
            value={isDefault ? 'none shown' : <GainText gain={gain} />}
            detail={isDefault ? 'the default is kept' : confirmed ? undefined : 'not confirmed'}
          />
          {own && !standard && <Headline own={own.performance} />}
        </FigureList>
      </div>
      {own && standard && <Changes own={own.performance} standard={standard.performance} />}
      <p className={classes.inWords}>{sentence}</p>
      {!isDefault && <ConfidenceNote of={[gain]} />}
      {people.length > 0 && <FinalistsTable of={people} />}
    </Panel>
  );
}
