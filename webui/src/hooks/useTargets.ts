import { useQuery } from '@tanstack/react-query';
import { call } from '../api/call';
import { getTargets } from '../api/generated';
import { keys } from '../api/keys';

/** The servers that can be tuned: which are installed, and what their usual files set as they are now. */
export function useTargets() {
  return useQuery({ queryKey: keys.targets, queryFn: () => call(getTargets()) });
}
