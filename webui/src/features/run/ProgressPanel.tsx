import { Progress as Bar } from '@mantine/core';
import type { Progress } from '../../api/generated';
import { Figure, FigureList } from '../../components/Figure';
import { Panel } from '../../components/Panel';
import {
  formatCount,
  formatDuration,
  formatMbps,
  formatMicroseconds,
  formatPercent,
} from '../../maths/format';
import type { Rungs } from '../../maths/rungs';
import classes from './Run.module.css';

const PHASES: Record<Progress['phase'], string> = {
  preparing: 'Preparing: writing and warming the file set',
  calibrating: 'Calibrating: finding the rate at which the default saturates',
  searching: 'Searching: one configuration after another up the ladder',
  eliminating: 'Eliminating: which settings of the best are worth something, with and without them',
  confirming: 'Confirming: the winner against the default, interleaved',
  exporting: 'Exporting: writing and checking configuration files',
  done: 'Measuring a trial again',
};

/** How far a running run is, and what is being measured this second. */
export function ProgressPanel({ progress, rungs }: { progress: Progress; rungs: Rungs }) {
  const {
    phase,
    fraction,
    elapsed_s,
    eta_s,
    trial,
    trials_expected,
    rate_rps,
    rate_index,
    rates,
    load,
    pause,
    so_far,
  } = progress;
  const percent = formatPercent(fraction);
  return (
    <Panel title="Progress">
      <div className={classes.progressTop}>
        <strong>{pause === 'yes' ? 'Paused' : PHASES[phase]}</strong>
        <span className={classes.dimmed}>
          {pause === 'requested' && 'pauses after this trial; '}
          {formatDuration(elapsed_s)} so far
          {eta_s !== null && `, about ${formatDuration(eta_s)} to go`}
        </span>
      </div>
      <Bar.Root size="lg">
        <Bar.Section value={fraction * 100} aria-label={`Progress of the run: ${percent}`} />
      </Bar.Root>
      <div className={classes.figures}>
        <FigureList>
          <Figure label="Done" value={percent} />
          <Figure
            label="Trial"
            value={trial === null ? '–' : `${formatCount(trial)} of about ${formatCount(trials_expected)}`}
          />
          <Figure
            label={rungs.name}
            value={rate_rps === null ? '–' : rungs.format(rate_rps)}
            detail={
              rate_index === null || rates === 0 ? undefined : `${rate_index + 1} of ${rates} in the ladder`
            }
          />
          <Figure label="Goodput now" value={load ? formatMbps(load.goodput_mbps) : '–'} />
          <Figure label="Latency p99 now" value={load ? formatMicroseconds(load.reply_p99_us) : '–'} />
          <Figure
            label="Timed out in this measurement"
            value={load ? formatCount(load.requests_timed_out) : '–'}
          />
        </FigureList>
      </div>
      {so_far && <p className={classes.inWords}>{so_far}</p>}
    </Panel>
  );
}
