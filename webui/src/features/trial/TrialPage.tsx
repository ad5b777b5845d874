// One trial: what each rate of the ladder measured, why it has its verdict, and what the host did meanwhile.

import { Button } from '@mantine/core';
import { IconChevronLeft, IconChevronRight, IconRepeat } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import { useMutation, useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useActions } from '../../actions/ActionsProvider';
import type { RunDetail, TrialDetail } from '../../api/generated';
import {
  getRunOptions,
  getTrialOptions,
  repeatTrialMutation,
} from '../../api/generated/@tanstack/react-query.gen';
import { Loadable } from '../../components/Loadable';
import { LinkButton } from '../../components/links';
import { Message } from '../../components/Message';
import { Page } from '../../components/Page';
import { VerdictMark } from '../../components/RunState';
import { formatDuration, formatMbps, formatTime } from '../../maths/format';
import { plainInText } from '../../maths/plainNames';
import { rungsOf } from '../../maths/rungs';
import { levelName } from '../../maths/searchLevel';
import { formatSecond } from '../../maths/secondObjective';
import { ConfigurationPanel } from './ConfigurationPanel';
import { CountersOverTime } from './CountersOverTime';
import { GoodputPanel } from './GoodputPanel';
import { LatencyPanel } from './LatencyPanel';
import { MeasurementsPanel } from './MeasurementsPanel';
import { RatePanels } from './RatePanels';
import { SizeClassesPanel } from './SizeClassesPanel';
import classes from './Trial.module.css';

const route = getRouteApi('/runs/$id/trials/$number');

export function TrialPage() {
  const { id, number } = route.useParams();
  const run = useQuery(getRunOptions({ path: { run_id: id } }));
  // A recorded trial never changes.
  const trial = useQuery({
    ...getTrialOptions({ path: { run_id: id, number } }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (run.data && trial.data) return <Loaded run={run.data} trial={trial.data} />;
  return (
    <Page title={`Trial ${number} of run ${id}`} actions={<BackToRun id={id} trial={number} />}>
      <Loadable
        query={(run.isError ? run : trial) as UseQueryResult<unknown>}
        what={`Trial ${number}`}
        height={420}
      >
        {() => null}
      </Loadable>
    </Page>
  );
}

const PURPOSES = {
  calibration: 'calibration',
  search: 'search',
  elimination: 'elimination',
  confirmation: 'confirmation',
} as const;

function purposeOf({ purpose, block, level }: TrialDetail, strategy: string): string {
  if (purpose === 'confirmation')
    return block === 0 ? 'repeat outside the blocks' : `confirmation, block ${block}`;
  if (purpose === 'elimination') return `elimination, block ${block}`;
  if (purpose !== 'search') return PURPOSES[purpose];
  return level === 0 ? 'search, the default' : `search, level ${levelName(strategy, level)}`;
}

function scoresOf({ second_objective: second }: RunDetail, { score, second_score }: TrialDetail): string {
  if (score === null) return '';
  const other = second === null ? '' : `, ${plainInText(second)} ${formatSecond(second, second_score)}`;
  return `; score ${formatMbps(score)}${other}`;
}

function Loaded({ run, trial }: { run: RunDetail; trial: TrialDetail }) {
  const { rate } = route.useSearch();
  const navigate = route.useNavigate();
  const rungs = rungsOf(run.loop);
  const selected =
    trial.measurements.find(({ number }) => number === rate) ?? worstMeasurement(trial) ?? null;
  const took = (Date.parse(trial.finished_at) - Date.parse(trial.started_at)) / 1000;
  return (
    <Page
      title={`Trial ${trial.number} of run ${run.id}`}
      mark={<VerdictMark verdict={trial.verdict} />}
      description={`${run.target} under ${run.workload}; ${purposeOf(trial, run.strategy)}; ${formatTime(trial.started_at)}, took ${formatDuration(took)}${scoresOf(run, trial)}.`}
      actions={<Actions key={`${run.id} ${trial.number}`} run={run} trial={trial} />}
    >
      {trial.verdict !== 'verified' && (
        <Message tone="warn" title={trial.reason || 'It was not verified.'}>
          {trial.violations.length > 1 &&
            `${trial.violations.length} violations in all; the tables below mark each.`}
        </Message>
      )}
      <ConfigurationPanel run={run} trial={trial} />
      {selected === null ? (
        <Message title="This trial has no measurements.">
          It ended before the first rate had been driven.
        </Message>
      ) : (
        <>
          {trial.measurements.length > 1 && <GoodputPanel rungs={rungs} measurements={trial.measurements} />}
          <MeasurementsPanel
            rungs={rungs}
            trial={trial}
            selected={selected.number}
            onSelect={(number) => navigate({ search: { rate: number }, replace: true, resetScroll: false })}
          />
          <div className={classes.columns}>
            <SizeClassesPanel rungs={rungs} trial={trial} measurement={selected} />
            <LatencyPanel rungs={rungs} measurements={trial.measurements} selected={selected} />
          </div>
          <RatePanels measurement={selected} rungs={rungs} />
        </>
      )}
      <CountersOverTime run={run} trial={trial} />
    </Page>
  );
}

/** The rate at which the trial was furthest above a threshold; else the highest. */
function worstMeasurement({ measurements, violations }: TrialDetail) {
  const worst = violations.toSorted((a, b) => b.share - b.limit - (a.share - a.limit))[0];
  return measurements.find(({ rate_rps }) => rate_rps === worst?.rate_rps) ?? measurements.at(-1);
}

function Actions({ run, trial }: { run: RunDetail; trial: TrialDetail }) {
  const repeat = useMutation(repeatTrialMutation());
  const navigate = useNavigate();
  const go = (number: number) =>
    void navigate({ to: '/runs/$id/trials/$number', params: { id: run.id, number } });
  const again = () => repeat.mutate({ path: { run_id: run.id, number: trial.number } });
  useActions([
    ...(trial.number < run.trials
      ? [{ title: 'Next trial', keys: 'j', run: () => go(trial.number + 1) }]
      : []),
    ...(trial.number > 1 ? [{ title: 'Previous trial', keys: 'k', run: () => go(trial.number - 1) }] : []),
    {
      title: `Back to run ${run.id}`,
      keys: 'u',
      run: () => void navigate({ to: '/runs/$id', params: { id: run.id }, search: { trial: trial.number } }),
    },
    ...(trial.purpose === 'calibration' ? [] : [{ title: 'Measure again', run: again }]),
  ]);
  const step = (number: number, label: string, icon: 'left' | 'right') => (
    <LinkButton
      to="/runs/$id/trials/$number"
      params={{ id: run.id, number }}
      variant="default"
      disabled={number < 1 || number > run.trials}
      aria-label={label}
      px="xs"
    >
      {icon === 'left' ? (
        <IconChevronLeft size={16} aria-hidden />
      ) : (
        <IconChevronRight size={16} aria-hidden />
      )}
    </LinkButton>
  );
  return (
    <>
      {step(trial.number - 1, 'Previous trial', 'left')}
      {step(trial.number + 1, 'Next trial', 'right')}
      <BackToRun id={run.id} trial={trial.number} />
      {trial.purpose !== 'calibration' && (
        <Button
          variant="default"
          leftSection={<IconRepeat size={16} aria-hidden />}
          loading={repeat.isPending}
          onClick={again}
        >
          Measure again
        </Button>
      )}
      {repeat.isSuccess && (
        <p role="status" className={classes.note}>
          Being measured again; the new trial appears in the table of the run.
        </p>
      )}
      {repeat.error && (
        <p role="alert" className={classes.error}>
          {repeat.error.message}
        </p>
      )}
    </>
  );
}

function BackToRun({ id, trial }: { id: number; trial: number }) {
  return (
    <LinkButton to="/runs/$id" params={{ id }} search={{ trial }} variant="default">
      Back to run {id}
    </LinkButton>
  );
}
