import { useQuery } from '@tanstack/react-query';
import type { RunSummary } from '../../api/generated';
import { getRunOptions } from '../../api/generated/@tanstack/react-query.gen';
import { LinkButton } from '../../components/links';
import { Panel } from '../../components/Panel';
import { RunStateMark } from '../../components/RunState';
import { formatTime } from '../../maths/format';
import { searches } from '../../maths/presets';
import classes from './HomePage.module.css';

/** What came out of the newest run, and what can be done with it. */
export function LastRun({ run }: { run: RunSummary }) {
  const { id, name, target, workload, state, created_at } = run;
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
