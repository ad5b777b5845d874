import { useEffect } from 'react';
import type { RunDetail } from '../../api/generated';
import {
  pauseRunMutation,
  resumeRunMutation,
  stopRunMutation,
} from '../../api/generated/@tanstack/react-query.gen';
import { useRunMutation } from '../../api/useRunMutation';

/**
 * Pauses, stops and resumes a run. What was asked for, and what became of it, holds until the run is in another state,
 * whoever has brought it there, or until something else is asked for.
 */
export function useRunControl({ id, state }: Pick<RunDetail, 'id' | 'state'>, paused: boolean) {
  // It pauses when its present trial has finished; it says `stopped` a moment after it was asked to stop.
  const pause = useRunMutation(pauseRunMutation());
  const stop = useRunMutation(stopRunMutation());
  const resume = useRunMutation(resumeRunMutation());
  const path = { run_id: id };
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
    pause: { ask: asking(() => pause.mutate({ path })), isPending: pause.isPending },
    stop: { ask: asking(() => stop.mutate({ path })) },
    resume: {
      /** `evenIfChanged`: also on another host or server. */
      ask: (evenIfChanged = false) =>
        asking(() => resume.mutate({ path, query: { even_if_changed: evenIfChanged } }))(),
      isPending: resume.isPending,
    },
    stopping: stop.isPending || (stop.isSuccess && state === 'running'),
    error: stop.error ?? pause.error ?? resume.error,
  };
}
