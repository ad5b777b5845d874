// The kinds of traffic that are known on a host for a server's file, and what was tried with each. Pure.

export interface KnownTraffic {
  context: Record<string, unknown>;
  /** How many candidates were tried with it, and how many of them were promoted. */
  tried: number;
  promoted: number;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What the session has written down; entries that another version wrote in another way are left out. */
export function knownTraffic(incumbents: Readonly<Record<string, unknown>> | null): KnownTraffic[] {
  const known = Array.isArray(incumbents?.known) ? incumbents.known : [];
  return known.filter(isObject).flatMap(({ context, attempts }) => {
    if (!isObject(context)) return [];
    const tried = (Array.isArray(attempts) ? attempts : []).filter(isObject);
    const promoted = tried.filter(({ action }) => action === 'promote').length;
    return [{ context, tried: tried.length, promoted }];
  });
}
