import type { Space, TrialSummary } from '../../api/generated';
import type { Configuration } from '../../maths/heatMapGrid';
import type { ConfigurationScore } from './configurationScores';

/** What every kind of map of a search is given. */
export interface SearchMapProps {
  space: Space;
  trials: readonly TrialSummary[];
  /** By the hash of each configuration. */
  scores: ReadonlyMap<string, ConfigurationScore>;
  /** The hash of the best one. */
  best: string | undefined;
  /** The configuration being measured now. */
  current: Configuration | null;
  axes: { x: string; y: string };
  free: readonly string[];
  /** The knob that has a map, or a shape, for each of its values. */
  by: string | undefined;
  selected: number | undefined;
  /** Relative standard deviation of a single trial; null while it is not known. */
  noise: number | null;
  onBy: (by: string) => void;
  onSelect: (trial: number) => void;
}
