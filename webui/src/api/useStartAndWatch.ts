import { useNavigate } from '@tanstack/react-router';
import { useRef } from 'react';
import type { RunSpec } from './generated';
import { startRunMutation } from './generated/@tanstack/react-query.gen';
import { useRunMutation } from './useRunMutation';

/**
 * Starts a run and goes to its page; fails with status 409 while another one is going on. The second click of a double
 * click starts nothing; and the live stream may take the button away before the answer comes, so that callbacks of
 * `mutate` would be forgotten.
 */
export function useStartAndWatch() {
  const navigate = useNavigate();
  const start = useRunMutation(startRunMutation());
  const busy = useRef(false);
  const begin = (body: RunSpec) => {
    if (busy.current) return;
    busy.current = true;
    start
      .mutateAsync({ body })
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
