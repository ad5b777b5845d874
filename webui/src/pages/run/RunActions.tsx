import { Button } from '@mantine/core';
import {
  IconFileExport,
  IconPlayerPauseFilled,
  IconPlayerPlayFilled,
  IconPlayerStopFilled,
} from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useActions } from '../../actions/ActionsProvider';
import { ApiError } from '../../api/call';
import type { Progress, RunDetail } from '../../api/generated';
import { LinkButton } from '../../components/links';
import { usePauseRun, useResumeRun, useStopRun } from '../../hooks/useRunActions';
import { isCapacityOnly } from '../../maths/presets';
import classes from './RunActions.module.css';

const RESUMABLE: readonly RunDetail['state'][] = ['stopped', 'failed', 'interrupted'];

/** The daemon's code for a host, kernel, CPUs or server that are not those the run began with. */
const CHANGED = 'run-changed';

/** Pause and stop while it runs, resume when it can be, and the way to the exports. */
export function RunActions({ run, progress }: { run: RunDetail; progress: Progress | null }) {
  const stop = useStopRun();
  const pause = usePauseRun();
  const resume = useResumeRun();
  const paused = run.state === 'running' && progress !== null && progress.pause !== 'no';
  const error = run.state === 'running' ? (stop.error ?? pause.error) : resume.error;
  const stopping = stop.isPending || (stop.isSuccess && run.state === 'running');
  const navigate = useNavigate();
  const searches = !isCapacityOnly(run);
  useActions([
    ...(run.state === 'running' && !paused
      ? [{ title: `Pause run ${run.id}`, keys: 'p', run: () => pause.mutate(run.id) }]
      : []),
    ...(run.state === 'running' ? [{ title: `Stop run ${run.id}`, run: () => stop.mutate(run.id) }] : []),
    ...(paused || RESUMABLE.includes(run.state)
      ? [{ title: `Resume run ${run.id}`, keys: 'p', run: () => resume.mutate({ id: run.id }) }]
      : []),
    ...(searches
      ? [
          {
            title: `Exports of run ${run.id}`,
            keys: 'e',
            run: () => void navigate({ to: '/runs/$id/export', params: { id: run.id } }),
          },
          {
            title: `Compare run ${run.id}`,
            keys: 'c',
            run: () => void navigate({ to: '/compare', search: { runs: run.id } }),
          },
        ]
      : []),
  ]);
  return (
    <>
      {run.state === 'running' && !paused && (
        <Button
          variant="default"
          leftSection={<IconPlayerPauseFilled size={15} aria-hidden />}
          disabled={stopping}
          loading={pause.isPending}
          onClick={() => pause.mutate(run.id)}
        >
          Pause
        </Button>
      )}
      {run.state === 'running' && (
        <Button
          variant="default"
          leftSection={<IconPlayerStopFilled size={15} aria-hidden />}
          disabled={stopping}
          onClick={() => stop.mutate(run.id)}
        >
          {stopping ? 'Stopping' : 'Stop'}
        </Button>
      )}
      {(paused || RESUMABLE.includes(run.state)) && (
        <Button
          variant="default"
          leftSection={<IconPlayerPlayFilled size={15} aria-hidden />}
          loading={resume.isPending}
          onClick={() => {
            stop.reset();
            resume.mutate({ id: run.id });
          }}
        >
          Resume
        </Button>
      )}
      {searches && (
        <LinkButton
          to="/runs/$id/export"
          params={{ id: run.id }}
          variant={run.state === 'finished' ? 'filled' : 'default'}
          leftSection={<IconFileExport size={16} aria-hidden />}
        >
          Exports
        </LinkButton>
      )}
      {error && (
        <p role="alert" className={classes.error}>
          {error.message}
        </p>
      )}
      {error instanceof ApiError && error.code === CHANGED && (
        <Button
          variant="default"
          loading={resume.isPending}
          onClick={() => resume.mutate({ id: run.id, evenIfChanged: true })}
        >
          Resume anyway
        </Button>
      )}
    </>
  );
}
