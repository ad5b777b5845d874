// A run: how far it is, what it has found, and every trial behind that.

import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { RunDetail } from '../../api/generated';
import { Loadable } from '../../components/Loadable';
import { Message } from '../../components/Message';
import { Page } from '../../components/Page';
import { RunStateMark } from '../../components/RunState';
import { useLadderSoFar } from '../../hooks/useLadderSoFar';
import { useProgress } from '../../hooks/useProgress';
import { useRun } from '../../hooks/useRun';
import { useTrials } from '../../hooks/useTrials';
import { formatTime } from '../../maths/format';
import { CurvesPanel } from './CurvesPanel';
import { EventsPanel } from './EventsPanel';
import { keyTrials } from './facts';
import { HeatMapPanel } from './HeatMapPanel';
import { OutcomePanel } from './OutcomePanel';
import { ProgressPanel } from './ProgressPanel';
import classes from './Run.module.css';
import { RunActions } from './RunActions';
import { TrialsPanel } from './TrialsPanel';

const route = getRouteApi('/runs/$id');

export function RunPage() {
  const { id } = route.useParams();
  const run = useRun(id);
  return run.data ? (
    <Loaded run={run.data} />
  ) : (
    <Page title={`Run ${id}`}>
      <Loadable query={run} what={`Run ${id}`} height={420}>
        {() => null}
      </Loadable>
    </Page>
  );
}

function Loaded({ run }: { run: RunDetail }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const trials = useTrials(run.id);
  const ladderSoFar = useLadderSoFar(run.id);
  const live = useProgress();
  const progress = run.state !== 'running' ? null : live?.run_id === run.id ? live : run.progress;
  const rows = useMemo(() => trials.data ?? [], [trials.data]);
  const { standard, best } = useMemo(
    () => keyTrials(rows, run.space, run.outcome),
    [rows, run.space, run.outcome],
  );
  const selected = rows.find(({ number }) => number === search.trial);
  const look = (change: { trial?: number; x?: string; y?: string }) =>
    navigate({ search: { ...search, ...change }, replace: true, resetScroll: false });
  return (
    <Page
      title={`Run ${run.id}`}
      mark={<RunStateMark state={run.state} />}
      description={`${run.target} ${run.target_version} under ${run.workload}, ${run.preset} preset, ${run.strategy} by ${run.objective}; on ${run.host}, started ${formatTime(run.started_at)}.`}
      actions={<RunActions run={run} />}
    >
      {run.error && (
        <Message tone="bad" title={`The run ${run.state === 'failed' ? 'failed' : 'met an error'}.`}>
          {run.error}
        </Message>
      )}
      {progress && <ProgressPanel progress={progress} />}
      <OutcomePanel run={run} standard={standard} best={best} />
      <Loadable query={trials} what="The trials" height={420}>
        {(all) => (
          <>
            <div className={classes.charts}>
              <HeatMapPanel
                run={run}
                trials={all}
                current={progress?.phase === 'searching' ? progress.configuration : null}
                x={search.x}
                y={search.y}
                selected={selected}
                onAxes={(x, y) => look({ x, y })}
                onSelect={(trial) => look({ trial })}
              />
              <CurvesPanel
                standard={standard}
                best={best}
                selected={selected}
                underWay={progress && ladderSoFar?.trial === progress.trial ? ladderSoFar : null}
              />
            </div>
            <TrialsPanel
              run={run}
              trials={all}
              standardScore={standard?.score ?? null}
              selected={search.trial}
              onSelect={(trial) => look({ trial })}
            />
          </>
        )}
      </Loadable>
      <EventsPanel runId={run.id} />
    </Page>
  );
}
