import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { call } from '../api/call';
import {
  noteRun,
  pauseRun,
  type RunDetail,
  type RunSpec,
  repeatTrial,
  resumeRun,
  startRun,
  stopRun,
} from '../api/generated';
import { keys } from '../api/keys';
import { runQuery } from './useRun';

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

/** What a user has written about a run. */
export type Written = Pick<RunDetail, 'name' | 'notes' | 'tags'>;

export const sameWords = (a: Written, b: Written): boolean =>
  a.name === b.name && a.notes === b.notes && a.tags.join('\n') === b.tags.join('\n');

/** Puts a run into the archive, or takes it back out. */
export const useArchiveRun = (id: number) =>
  useRunMutation((archived: boolean) => call(noteRun({ path: { run_id: id }, body: { archived } })));

/** Replaces the name, notes and tags of a run; fails when they are no longer `known`, and has what they are read. */
export function useNoteRun(id: number) {
  const client = useQueryClient();
  return useRunMutation(async ({ known, ...body }: Written & { known: Written }) => {
    const { name, notes, tags } = await client.fetchQuery({ ...runQuery(id), staleTime: 0 });
    if (!sameWords({ name, notes, tags }, known)) throw new Error('The notes have been changed meanwhile.');
    return call(noteRun({ path: { run_id: id }, body }));
  });
}

/** Measures a trial's configuration once more; fails with status 409 while a run is going on. */
export function useRepeatTrial(id: number) {
  return useMutation({
    mutationFn: (number: number) => call(repeatTrial({ path: { run_id: id, number } })),
  });
}

/**
 * Pauses, stops and resumes a run. What was asked for, and what became of it, holds until the run is in another state,
 * whoever has brought it there, or until something else is asked for.
 */
export function useRunControl({ id, state }: Pick<RunDetail, 'id' | 'state'>, paused: boolean) {
  // It pauses when its present trial has finished; it says `stopped` a moment after it was asked to stop.
  const pause = useRunMutation(() => call(pauseRun({ path: { run_id: id } })));
  const stop = useRunMutation(() => call(stopRun({ path: { run_id: id } })));
  const resume = useRunMutation((evenIfChanged: boolean) =>
    call(resumeRun({ path: { run_id: id }, query: { even_if_changed: evenIfChanged } })),
  );
  const [forgetPause, forgetStop, forgetResume] = [pause.reset, stop.reset, resume.reset];
  // biome-ignore lint/correctness/useExhaustiveDependencies: the state says when
  useEffect(() => forgetStop(), [state, forgetStop]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: these two say when
  useEffect(() => {
    forgetPause();
    forgetResume();
  }, [state, paused, forgetPause, forgetResume]);
  const forget = () => {
    forgetPause();
    forgetStop();
    forgetResume();
  };
  const asking = (request: () => void) => () => {
    forget();
    request();
  };
  return {
    pause: { ask: asking(() => pause.mutate(undefined)), isPending: pause.isPending },
    stop: { ask: asking(() => stop.mutate(undefined)) },
    resume: {
      /** `evenIfChanged`: also on another host or server. */
      ask: (evenIfChanged = false) => asking(() => resume.mutate(evenIfChanged))(),
      isPending: resume.isPending,
    },
    stopping: stop.isPending || (stop.isSuccess && state === 'running'),
    error: stop.error ?? pause.error ?? resume.error,
  };
}
