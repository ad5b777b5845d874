import { useMutation } from '@tanstack/react-query';
import { call } from '../api/call';
import { readValues } from '../api/generated';

/** What the text of a configuration file of the target sets; fails where it cannot be understood. */
export function useReadValues(target: string) {
  return useMutation({
    mutationFn: (text: string) => call(readValues({ path: { name: target }, body: { text } })),
  });
}
