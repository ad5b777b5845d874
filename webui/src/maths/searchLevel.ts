// The levels of a search.

/** Strategies whose second level measures again what may still win. */
const RACES: readonly string[] = ['race', 'surrogate-race'];

/** The level of the search that a trial is shown at: the default's own, 0, belongs to the first. */
export const searchLevel = ({ level }: { level: number }): number => Math.max(1, level);

/** A level of the search in words. */
export function levelName(strategy: string, level: number): string {
  if (RACES.includes(strategy)) return level === 1 ? '1, the field' : `${level}, repeats`;
  return level === 1 ? '1, coarse' : `${level}, finer`;
}
