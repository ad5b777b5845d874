import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../api/call';
import { type RunDetail, type RunSpec, resumeRun, startRun, stopRun } from '../api/generated';
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
export function useStartRun() {
  return useRunMutation((body: RunSpec) => call(startRun({ body })));
}

/** Asks a run to stop; it says `stopped` a moment later. */
export function useStopRun() {
  return useRunMutation((id: number) => call(stopRun({ path: { run_id: id } })));
}

/** Goes on with a stopped, failed or interrupted run. */
export function useResumeRun() {
  return useRunMutation((id: number) => call(resumeRun({ path: { run_id: id } })));
}
