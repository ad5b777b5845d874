// A run: how far it is; what it has found, why, and how sure that is; and every trial of the search behind it. While
// it goes on the search goes first, as there is no outcome to explain.

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import type { RunDetail } from '../../api/generated';
import { getRunOptions } from '../../api/generated/@tanstack/react-query.gen';
import { useLadderSoFar, useProgress } from '../../api/useProgress';
import { useTrials } from '../../api/useTrials';
import { DrawLater } from '../../components/DrawLater';
import { Loadable } from '../../components/Loadable';
import { Page } from '../../components/Page';
import { RunStateMark } from '../../components/RunState';
import { formatTime } from '../../maths/format';
import { numbersIn } from '../../maths/numberList';
import { plainInText } from '../../maths/plainNames';
import { isCapacityOnly, isOfTwoFiles, searches } from '../../maths/presets';
import { rungsOf } from '../../maths/rungs';
import { runTitle } from '../../maths/runTitle';
import { defaultConfiguration, freeKnobs } from '../../maths/space';
import { CapacityPanel } from './CapacityPanel';
import { CurvesPanel } from './CurvesPanel';
import { EventsPanel } from './EventsPanel';
import { FrontPanel } from './FrontPanel';
import { HistoryPanel } from './HistoryPanel';
import { HostsPanel } from './HostsPanel';
import { ImportancePanel } from './ImportancePanel';
import { keyTrials } from './keyTrials';
import { type MapLook, MapPanel } from './MapPanel';
import { NotesPanel } from './NotesPanel';
import { OutcomePanel } from './OutcomePanel';
import { ParallelPanel } from './ParallelPanel';
import { ProgressPanel } from './ProgressPanel';
import classes from './Run.module.css';
import { RunActions } from './RunActions';
import type { RunSearch } from './runSearch';
import { toggled } from './runSearch';
import { SlicesPanel } from './SlicesPanel';
import { TrialsPanel } from './TrialsPanel';
import { TroubleMessage } from './TroubleMessage';
import { matches, parseFilter, withRange } from './trialFilter';
import { HowSure, Why } from './Understanding';
import { useAnalysis } from './useAnalysis';

const route = getRouteApi('/runs/$id');

export function RunPage() {
  const { id } = route.useParams();
  const run = useQuery(getRunOptions({ path: { run_id: id } }));
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
  // A repeat of a trial goes on in a run that has ended.
  const progress = live?.run_id === run.id ? live : run.state === 'running' ? run.progress : null;
  const rungs = rungsOf(run.loop);
  const rows = useMemo(() => trials.data ?? [], [trials.data]);
  const { standard, best } = useMemo(
    () => keyTrials(rows, run.space, run.outcome),
    [rows, run.space, run.outcome],
  );
  const standardScore = standard?.score ?? null;
  const filterText = search.filter ?? '';
  const filter = useMemo(() => parseFilter(filterText, freeKnobs(run.space)), [filterText, run.space]);
  const kept = useMemo(
    () => rows.filter((trial) => matches(trial, filter, defaultConfiguration(run.space), standardScore)),
    [rows, filter, run.space, standardScore],
  );
  const keptNumbers = useMemo(() => new Set(kept.map(({ number }) => number)), [kept]);
  const { x, y, by, level } = search;
  const axes = useMemo(() => ({ x, y, by, level }), [x, y, by, level]);
  const chosen = useMemo(() => numbersIn(search.trial), [search.trial]);
  const curves = useMemo(() => rows.filter(({ number }) => chosen.includes(number)), [rows, chosen]);
  // The panels draw anew when what they are given changes, so these stay the same.
  const change = useCallback(
    (changed: (search: RunSearch) => Partial<RunSearch>) =>
      void navigate({
        search: (before) => ({ ...before, ...changed(before) }),
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
  const look = useCallback((look: MapLook) => change(() => look), [change]);
  const choose = useCallback(
    (number: number) => change(({ trial }) => ({ trial: toggled(numbersIn(trial), number) })),
    [change],
  );
  const setFilter = useCallback((text: string) => change(() => ({ filter: text || undefined })), [change]);
  const setSort = useCallback((sort: string | undefined) => change(() => ({ sort })), [change]);
  const brush = useCallback(
    (knob: string, range: Parameters<typeof withRange>[2]) =>
      change(({ filter = '' }) => ({ filter: withRange(filter, knob, range) || undefined })),
    [change],
  );
  const capacityOnly = isCapacityOnly(run);
  const searched = searches(run.preset);
  const underWay = progress && ladderSoFar?.trial === progress.trial ? ladderSoFar : null;
  const analysis = useAnalysis(run.id, { running: run.state === 'running', enabled: trials.isFetched });
  const importance = analysis.data?.importance ?? null;
  const noise = analysis.data?.noise?.share ?? null;
  const understood = (
    <DrawLater>
      <Why run={run} analysis={analysis} />
      <HowSure run={run} analysis={analysis.data} />
    </DrawLater>
  );
  return (
    <Page
      title={runTitle(run)}
      mark={<RunStateMark state={run.state} paused={progress?.pause === 'yes'} />}
      description={descriptionOf(run)}
      actions={<RunActions key={run.id} run={run} progress={progress} />}
    >
      <TroubleMessage run={run} />
      {progress && <ProgressPanel progress={progress} rungs={rungs} />}
      {(searched || (isOfTwoFiles(run) && run.outcome)) && (
        <OutcomePanel run={run} standard={standard} best={best} />
      )}
      {run.outcome?.over_hosts && <HostsPanel overHosts={run.outcome.over_hosts} />}
      {!capacityOnly && run.outcome && understood}
      <Loadable query={trials} what="The trials" height={420}>
        {(all) =>
          capacityOnly ? (
            <CapacityPanel run={run} trials={all} underWay={underWay} />
          ) : (
            <>
              <div className={classes.halves}>
                {searched && <HistoryPanel trials={all} standardScore={standardScore} />}
                <CurvesPanel
                  rungs={rungs}
                  outcome={run.outcome}
                  standard={standard}
                  best={best}
                  chosen={curves}
                  underWay={underWay}
                />
              </div>
              {searched && (
                <>
                  <MapPanel
                    run={run}
                    trials={all}
                    current={progress?.phase === 'searching' ? progress.configuration : null}
                    look={axes}
                    selected={chosen.at(-1)}
                    noise={noise}
                    onLook={look}
                    onSelect={choose}
                  />
                  <SlicesPanel run={run} trials={all} importance={importance} />
                </>
              )}
              {run.second_objective !== null && (
                <FrontPanel run={run} second={run.second_objective} trials={all} />
              )}
              {importance && <ImportancePanel importance={importance} noise={noise} />}
              {searched && (
                <ParallelPanel run={run} trials={all} kept={keptNumbers} noise={noise} onBrush={brush} />
              )}
              <TrialsPanel
                run={run}
                trials={all}
                kept={kept}
                filter={filterText}
                filterError={filter.error}
                standardScore={standardScore}
                chosen={chosen}
                sort={search.sort}
                onSort={setSort}
                onFilter={setFilter}
                onChoose={choose}
              />
            </>
          )
        }
      </Loadable>
      {(capacityOnly || !run.outcome) && understood}
      <DrawLater>
        <NotesPanel key={run.id} run={run} />
        <EventsPanel runId={run.id} />
      </DrawLater>
    </Page>
  );
}

function descriptionOf(run: RunDetail): string {
  const { target, target_version, workload, preset, strategy, objective, second_objective: second } = run;
  const how = !searches(preset)
    ? ''
    : `. ${run.state === 'running' ? 'Searches' : 'Searched'} for ${plainInText(objective)}${second === null ? '' : ` and ${plainInText(second)}`}. Strategy: ${plainInText(strategy)}`;
  const cpus = run.layout.reason && ` CPUs: ${run.layout.reason}.`;
  return `${target} ${target_version} under ${workload}, ${preset} preset, on ${run.host}, started ${formatTime(run.created_at)}${how}.${cpus}`;
}
