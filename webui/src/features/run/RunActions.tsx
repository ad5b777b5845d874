import { Button } from '@mantine/core';
import {
  IconArchive,
  IconArchiveOff,
  IconFileDescription,
  IconFileExport,
  IconPlayerPauseFilled,
  IconPlayerPlayFilled,
  IconPlayerStopFilled,
  IconRepeat,
} from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { useActions } from '../../actions/ActionsProvider';
import { ApiError } from '../../api/errors';
import type { Progress, RunDetail } from '../../api/generated';
import { noteRunMutation } from '../../api/generated/@tanstack/react-query.gen';
import { useRunMutation } from '../../api/useRunMutation';
import { LinkButton } from '../../components/links';
import { searches } from '../../maths/presets';
import { DeleteRun } from './DeleteRun';
import classes from './RunActions.module.css';
import { useRunControl } from './useRunControl';

const RESUMABLE: readonly RunDetail['state'][] = ['stopped', 'failed', 'interrupted'];

/** The daemon's code for a host, kernel, CPUs or server that are not those the run began with. */
const CHANGED = 'run-changed';

/** Pause and stop while it runs, resume when it can be; what becomes of it afterwards; and the way to the exports. */
export function RunActions({ run, progress }: { run: RunDetail; progress: Progress | null }) {
  const paused = run.state === 'running' && progress !== null && progress.pause !== 'no';
  const { state } = run;
  const { pause, stop, resume, stopping, error } = useRunControl(run, paused);
  const archive = useRunMutation(noteRunMutation());
  const shelve = {
    title: run.archived ? 'Take out of the archive' : 'Archive',
    run: () => archive.mutate({ path: { run_id: run.id }, body: { archived: !run.archived } }),
  };
  const navigate = useNavigate();
  const searched = searches(run.preset);
  const failure = error ?? archive.error;
  useActions([
    ...(state === 'running' && !paused ? [{ title: `Pause run ${run.id}`, keys: 'p', run: pause.ask }] : []),
    ...(state === 'running' ? [{ title: `Stop run ${run.id}`, run: stop.ask }] : []),
    ...(paused || RESUMABLE.includes(state)
      ? [{ title: `Resume run ${run.id}`, keys: 'p', run: () => resume.ask() }]
      : []),
    ...(state === 'running'
      ? []
      : [
          {
            title: `Tune again as in run ${run.id}`,
            run: () => void navigate({ to: '/tune', search: { like: run.id } }),
          },
          shelve,
        ]),
    ...(searched
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
      {state === 'running' && !paused && (
        <Button
          variant="default"
          leftSection={<IconPlayerPauseFilled size={15} aria-hidden />}
          disabled={stopping}
          loading={pause.isPending}
          onClick={pause.ask}
        >
          Pause
        </Button>
      )}
      {state === 'running' && (
        <Button
          variant="default"
          leftSection={<IconPlayerStopFilled size={15} aria-hidden />}
          disabled={stopping}
          onClick={stop.ask}
        >
          {stopping ? 'Stopping' : 'Stop'}
        </Button>
      )}
      {(paused || RESUMABLE.includes(state)) && (
        <Button
          variant="default"
          leftSection={<IconPlayerPlayFilled size={15} aria-hidden />}
          loading={resume.isPending}
          onClick={() => resume.ask()}
        >
          Resume
        </Button>
      )}
      {state !== 'running' && (
        <LinkButton
          to="/tune"
          search={{ like: run.id }}
          variant="default"
          leftSection={<IconRepeat size={16} aria-hidden />}
        >
          Tune again
        </LinkButton>
      )}
      {state !== 'running' && (
        <Button
          variant="default"
          leftSection={
            run.archived ? <IconArchiveOff size={16} aria-hidden /> : <IconArchive size={16} aria-hidden />
          }
          loading={archive.isPending}
          onClick={shelve.run}
        >
          {shelve.title}
        </Button>
      )}
      {state !== 'running' && (
        <Button
          component="a"
          href={`/api/v1/runs/${run.id}/report.html`}
          download
          variant="default"
          leftSection={<IconFileDescription size={16} aria-hidden />}
        >
          Report
        </Button>
      )}
      {searched && (
        <LinkButton
          to="/runs/$id/export"
          params={{ id: run.id }}
          variant={state === 'finished' ? 'filled' : 'default'}
          leftSection={<IconFileExport size={16} aria-hidden />}
        >
          Exports
        </LinkButton>
      )}
      {state !== 'running' && <DeleteRun run={run} />}
      {failure && (
        <p role="alert" className={classes.error}>
          {failure.message}
        </p>
      )}
      {error instanceof ApiError && error.code === CHANGED && (
        <Button variant="default" loading={resume.isPending} onClick={() => resume.ask(true)}>
          Resume anyway
        </Button>
      )}
    </>
  );
}
