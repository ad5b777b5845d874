import { useQuery } from '@tanstack/react-query';
import type { RunSummary } from '../../api/generated';
import { getRunOptions } from '../../api/generated/@tanstack/react-query.gen';
import { Figure, FigureList } from '../../components/Figure';
import { GainText } from '../../components/GainText';
import { LinkButton } from '../../components/links';
import { Panel } from '../../components/Panel';
import { RunStateMark } from '../../components/RunState';
import { formatRate, formatTime } from '../../maths/format';
import { leastText } from '../../maths/intervals';
import { searches } from '../../maths/presets';
import classes from './HomePage.module.css';

/** What came out of the newest run, and what can be done with it. */
export function LastRun({ run }: { run: RunSummary }) {
  const { id, name, target, workload, state, created_at, capacity_rps, capacity_gain } = run;
  const { data } = useQuery(getRunOptions({ path: { run_id: id } }));
  const said = data?.outcome?.sentence || data?.error;
  return (
    <Panel
      title={`Run ${id}${name && `, ${name}`}: ${target} under ${workload}`}
      description={
        <>
          <RunStateMark state={state} /> · started {formatTime(created_at)}
        </>
      }
    >
      {capacity_rps !== null && (
        <FigureList>
          <Figure label="Capacity" value={leastText(run.capacity_at_least) + formatRate(capacity_rps)} />
          {capacity_gain && (
            <Figure
              label="Gain over the default"
              value={<GainText gain={capacity_gain} atLeast={run.capacity_at_least} />}
            />
          )}
        </FigureList>
      )}
      {said && <p className={classes.said}>{said}</p>}
      <div className={classes.start}>
        <LinkButton to="/runs/$id" params={{ id }}>
          Look at run {id}
        </LinkButton>
        {state === 'finished' && searches(run.preset) && (
          <LinkButton to="/runs/$id/export" params={{ id }} variant="default">
            Its configuration files
          </LinkButton>
        )}
      </div>
    </Panel>
  );
}
