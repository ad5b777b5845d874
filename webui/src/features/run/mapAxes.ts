// Which knobs lie on the axes of the map.

import type { Role, Space } from '../../api/generated';
import { freeKnobs } from '../../maths/space';

/** The knobs on the axes: those asked for if they can be, else connections across and workers up. */
export function chooseAxes(
  space: Space,
  x: string | undefined,
  y: string | undefined,
): { x: string; y: string } | null {
  const free = freeKnobs(space);
  const ofRole = (...roles: Role[]) => space.knobs.find(({ role }) => role && roles.includes(role))?.name;
  const connections = ofRole('connections', 'connections-per-worker');
  const preferred = (wanted: readonly (string | undefined)[], taken?: string) =>
    [...wanted, ...free].find((name) => name !== undefined && free.includes(name) && name !== taken);
  const across = preferred([x, y === connections ? undefined : connections], x === undefined ? y : undefined);
  if (across === undefined) return null;
  const up = preferred([y, ofRole('workers')], across);
  return up === undefined ? null : { x: across, y: up };
}
