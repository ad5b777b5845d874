// Says on every page of a demo that its measurements are simulated.

import { useQuery } from '@tanstack/react-query';
import { getHealthOptions } from '../api/generated/@tanstack/react-query.gen';
import classes from './DemoBanner.module.css';

export function DemoBanner() {
  const { data: health } = useQuery({ ...getHealthOptions(), staleTime: Number.POSITIVE_INFINITY });
  if (!health?.demo) return null;
  return (
    <aside className={classes.banner} aria-label="Demo">
      <strong>Demo: simulated measurements.</strong> No server is started, and nothing on this machine is
      changed.
    </aside>
  );
}
