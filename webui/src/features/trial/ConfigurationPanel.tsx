import type { RunDetail, TrialDetail } from '../../api/generated';
import { KnobChips } from '../../components/KnobChips';
import { Panel } from '../../components/Panel';
import { changedKnobs } from '../../maths/knobDiff';
import { defaultConfiguration, freePart } from '../../maths/space';
import classes from './Trial.module.css';

/** What was tried, what of it is not the default, and the file the server ran with. */
export function ConfigurationPanel({ run, trial }: { run: RunDetail; trial: TrialDetail }) {
  const changes = changedKnobs(defaultConfiguration(run.space), trial.configuration);
  return (
    <Panel
      title="Configuration"
      description={
        changes.length === 0
          ? 'The default.'
          : `Not the default: ${changes.map(({ knob, from, to }) => `${knob} ${to} instead of ${from}`).join(', ')}.`
      }
    >
      <KnobChips of={freePart(trial.configuration, run.space)} />
      {trial.server_config && (
        <details className={classes.details}>
          <summary>The configuration file as the server saw it</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
          <section className={classes.config} tabIndex={0} aria-label="Configuration file of the trial">
            <pre>{trial.server_config}</pre>
          </section>
        </details>
      )}
    </Panel>
  );
}
