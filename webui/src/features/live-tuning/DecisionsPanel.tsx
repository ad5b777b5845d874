// What a session has decided, the newest first, each with what it rests on.

import type { LiveDecisionKind, LiveDecisionReply } from '../../api/generated';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { formatPercent, formatTime } from '../../maths/format';
import classes from './LiveTuning.module.css';
import { changesOf, evidenceOf, KIND_WORDS } from './words';

const TONES: Partial<Record<LiveDecisionKind, 'good' | 'warn' | 'bad'>> = {
  promoted: 'good',
  kept: 'good',
  'roll-back': 'warn',
  undone: 'warn',
  paused: 'warn',
  trouble: 'bad',
};

export function DecisionsPanel({ decisions }: { decisions: readonly LiveDecisionReply[] }) {
  return (
    <Panel title="Decisions">
      {decisions.length === 0 ? (
        <Message title="Nothing has been decided yet." />
      ) : (
        <ol className={classes.timeline} aria-label="Decisions, newest first">
          {decisions.toReversed().map((decision) => (
            <Decision key={decision.id} decision={decision} />
          ))}
        </ol>
      )}
    </Panel>
  );
}

function Decision({ decision }: { decision: LiveDecisionReply }) {
  const changes = changesOf(decision);
  const evidence = evidenceOf(decision.evidence);
  return (
    <li className={classes.decision} data-tone={TONES[decision.kind]}>
      <p className={classes.decisionHead}>
        <strong>{KIND_WORDS[decision.kind]}</strong>
        <time dateTime={decision.at}>{formatTime(decision.at)}</time>
        {decision.share > 0 && <span>canary {formatPercent(decision.share)}</span>}
      </p>
      <p>{decision.sentence}</p>
      {changes.length > 0 && (
        <ul className={classes.changes} aria-label="What it changes">
          {changes.map((change) => (
            <li key={change}>{change}</li>
          ))}
        </ul>
      )}
      {evidence.length > 0 && (
        <details className={classes.details}>
          <summary>Evidence</summary>
          <dl className={classes.evidence}>
            {evidence.map(([label, value]) => (
              <div key={label}>
                <dt>{label}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </li>
  );
}
