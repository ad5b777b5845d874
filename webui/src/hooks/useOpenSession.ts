import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../api/call';
import { openSession } from '../api/generated';

/** Exchanges the daemon's token for a session cookie, then reads everything again. */
export function useOpenSession() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (token: string) => call(openSession({ body: { token } })),
    onSuccess: () => client.invalidateQueries(),
  });
}
