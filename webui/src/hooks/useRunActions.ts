import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef } from 'react';
import { call } from '../api/call';
import {
  noteRun,
  pauseRun,
  type RunDetail,
  type RunNotes,
  type RunSpec,
  repeatTrial,
  resumeRun,
  startRun,
  stopRun,
} from '../api/generated';
import { keys } from '../api/keys';

function useRunMutation<Input>(request: (input: Input) => Promise<RunDetail>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: request,
    onSuccess: (run) => {
      client.setQueryData(keys.run(run.id), run);
      client.invalidateQueries({ queryKey: keys.runLists });
    },
  });
}

/** Starts a run; fails with status 409 while another one is going on. */
function useStartRun() {
  return useRunMutation((body: RunSpec) => call(startRun({ body })));
}

/**
 * Starts a run and goes to its page. The second click of a double click starts nothing; and the live stream may take
 * the button away before the answer comes, so that callbacks of `mutate` would be forgotten.
 */
export function useStartAndWatch() {
  const navigate = useNavigate();
  const start = useStartRun();
  const busy = useRef(false);
  const begin = (spec: RunSpec) => {
    if (busy.current) return;
    busy.current = true;
    start
      .mutateAsync(spec)
      .then(
        ({ id }) => navigate({ to: '/runs/$id', params: { id } }),
        () => {}, // `error` has it
      )
      .finally(() => {
        busy.current = false;
      });
  };
  return { begin, isPending: start.isPending, error: start.error };
}

/** Asks a run to stop; it says `stopped` a moment later. */
export function useStopRun() {
  return useRunMutation((id: number) => call(stopRun({ path: { run_id: id } })));
}

/** Asks a run to pause; it does when its present trial has finished. */
export function usePauseRun() {
  return useRunMutation((id: number) => call(pauseRun({ path: { run_id: id } })));
}

/** Replaces the notes or the tags of a run. */
export function useNoteRun(id: number) {
  return useRunMutation((body: RunNotes) => call(noteRun({ path: { run_id: id }, body })));
}

/** Measures a trial's configuration once more; fails with status 409 while a run is going on. */
export function useRepeatTrial(id: number) {
  return useMutation({
    mutationFn: (number: number) => call(repeatTrial({ path: { run_id: id, number } })),
  });
}

/** Goes on with a stopped, failed, interrupted or paused run; `evenIfChanged` also on another host or server. */
export function useResumeRun() {
  return useRunMutation(({ id, evenIfChanged = false }: { id: number; evenIfChanged?: boolean }) =>
    call(resumeRun({ path: { run_id: id }, query: { even_if_changed: evenIfChanged } })),
  );
}
