// The answer: the outcome once there is one, until then the best so far.

import type { ComparedFiles, Outcome, RunDetail, TrialSummary } from '../../api/generated';
import { Figure, FigureList } from '../../components/Figure';
import { GainText } from '../../components/GainText';
import { KnobChips } from '../../components/KnobChips';
import { Panel } from '../../components/Panel';
import { formatGain, formatMbps, formatShare } from '../../maths/format';
import { sameConfiguration } from '../../maths/knobDiff';
import { freePart, partToUse } from '../../maths/space';
import { Changes } from './Changes';
import { ConfidenceNote } from './ConfidenceNote';
import { EffectsTable } from './EffectsTable';
import { FactorialTable } from './FactorialTable';
import { FinalistsTable } from './FinalistsTable';
import { finalists } from './finalists';
import { Headline } from './Headline';
import { gainOver } from './keyTrials';
import classes from './Run.module.css';

interface OutcomePanelProps {
  run: RunDetail;
  standard: TrialSummary | undefined;
  best: TrialSummary | undefined;
}

export function OutcomePanel({ run, standard, best }: OutcomePanelProps) {
  if (run.outcome?.files) return <TwoFiles outcome={run.outcome} files={run.outcome.files} />;
  if (run.outcome) return <Found run={run} outcome={run.outcome} />;
  return (
    <Panel
      title="Best so far"
      description="By the trials of the search; the confirmation at the end says how sure the gain is."
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
          label="Gain in score"
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

const VERDICTS: Record<ComparedFiles['loss']['verdict'], string> = {
  kept: 'no more than allowed',
  lost: 'more than allowed',
  undecided: 'not decided',
};

/** What the new file of a server loses against the old one. */
function TwoFiles({ outcome, files }: { outcome: Outcome; files: ComparedFiles }) {
  const { loss } = files;
  const people = finalists(outcome);
  return (
    <Panel title="Old and new file">
      <FigureList>
        <Figure
          label="Loss of capacity"
          value={outcome.confirmed ? VERDICTS[loss.verdict] : 'not confirmed'}
          detail={`${formatShare(loss.most_loss)} allowed`}
        />
        <Figure label="New over old" value={<GainText gain={loss.gain} />} />
        <Figure label="Old file" value={<code>{files.old}</code>} />
        <Figure label="New file" value={<code>{files.new}</code>} />
      </FigureList>
      <p className={classes.inWords}>{outcome.sentence}</p>
      {people.length > 0 && <FinalistsTable of={people} than="old file" />}
    </Panel>
  );
}

function Found({ run, outcome }: { run: RunDetail; outcome: Outcome }) {
  const { confirmed, best, gain, capacity_gain, capacity_at_least } = outcome;
  const isDefault = best !== null && sameConfiguration(best, outcome.default);
  const people = finalists(outcome);
  const own = people.find(({ isBest }) => isBest);
  const inCapacity = capacity_gain !== null;
  const told = capacity_gain ?? gain;
  const standard = isDefault ? undefined : people.find(({ ranked }) => ranked.is_default);
  const words = own ? outcome.beyond_figures : outcome.sentence;
  // The gain in capacity stands between the capacities before and after.
  const toldAbove = standard !== undefined && inCapacity && confirmed;
  return (
    <Panel title="Outcome">
      {own && standard && <Changes own={own.performance} standard={standard.performance} />}
      {best && (
        <div className={classes.recommended}>
          <FigureList>
            <Figure
              label={confirmed || isDefault ? 'Configuration to use' : 'Best of the search'}
              value={<KnobChips of={partToUse(best, run.space)} />}
            />
            {!toldAbove && (
              <Figure
                label="Gain over the default"
                value={
                  isDefault ? (
                    'none shown'
                  ) : (
                    <GainText gain={told} atLeast={inCapacity && capacity_at_least} />
                  )
                }
                detail={
                  isDefault
                    ? 'the default is kept'
                    : !confirmed
                      ? 'not confirmed'
                      : told === null
                        ? 'the sentence below says why'
                        : inCapacity
                          ? 'in capacity'
                          : 'in score'
                }
              />
            )}
            {own && !standard && <Headline own={own.performance} />}
          </FigureList>
        </div>
      )}
      <p className={classes.inWords}>{words}</p>
      {inCapacity && gain && !words.includes('In score') && (
        <p className={classes.dimmed}>
          In score, which the search climbs: <GainText gain={gain} />
        </p>
      )}
      {!isDefault && <ConfidenceNote of={[told]} />}
      {outcome.effects.length > 0 && <EffectsTable of={outcome.effects} />}
      {outcome.workers && <p className={classes.dimmed}>{outcome.workers}</p>}
      {outcome.connections && <p className={classes.dimmed}>{outcome.connections}</p>}
      {outcome.factorial && <FactorialTable of={outcome.factorial} />}
      {people.length > 0 && <FinalistsTable of={people} />}
    </Panel>
  );
}
