import { Progress as Bar } from '@mantine/core';
import type { Progress } from '../../api/generated';
import { Figure, FigureList } from '../../components/Figure';
import { LinkButton } from '../../components/links';
import { Panel } from '../../components/Panel';
import { doingOf } from '../../maths/doing';
import { formatCount, formatDuration, formatMbps, formatPercent } from '../../maths/format';
import classes from './HomePage.module.css';

/** How far the run that is going on has come, and the way to it. */
export function RunningNow({ progress }: { progress: Progress }) {
  const { run_id, fraction, trial, trials_expected, elapsed_s, eta_s, best } = progress;
  return (
    <Panel
      title={`Run ${run_id} is ${doingOf(progress)}`}
      actions={
        <LinkButton to="/runs/$id" params={{ id: run_id }}>
          Watch run {run_id}
        </LinkButton>
      }
    >
      <Bar.Root size="lg" className={classes.bar}>
        <Bar.Section
          value={fraction * 100}
          aria-label={`Progress of run ${run_id}: ${formatPercent(fraction)}`}
        />
      </Bar.Root>
      <FigureList>
        <Figure label="Done" value={formatPercent(fraction)} detail={`${formatDuration(elapsed_s)} so far`} />
        <Figure label="To go" value={eta_s === null ? '–' : `about ${formatDuration(eta_s)}`} />
        <Figure
          label="Trial"
          value={trial === null ? '–' : `${formatCount(trial)} of about ${formatCount(trials_expected)}`}
        />
        <Figure label="Best score so far" value={best === null ? '–' : formatMbps(best.score)} />
      </FigureList>
    </Panel>
  );
}
