// Which grid of the search is drawn: trials over two knobs, with as many maps as can be looked at. Pure.

import type { TrialSummary } from '../../api/generated';
import {
  bins,
  type Configuration,
  facetLabel,
  type HeatMapGrid,
  heatMapGrid,
  varyingKnobs,
} from '../../maths/heatMapGrid';
import type { KnobValue } from '../../maths/knobDiff';
import { type ConfigurationScore, verifiedScore } from './configurationScores';

/** Values of `by` besides the names of knobs: one map, or one for each combination of the other knobs. */
export const TOGETHER = '*';
export const EACH = '**';

/** More values on an axis, or maps below each other, than this cannot be taken in. */
const MOST_VALUES = 24;
const BINS = 14;
const MOST_FACETS = 6;
const MOST_CHOSEN_FACETS = 24;

interface SearchMapInput {
  trials: readonly TrialSummary[];
  scores: ReadonlyMap<string, ConfigurationScore>;
  current: Configuration | null;
  axes: { x: string; y: string };
  free: readonly string[];
  by: string | undefined;
  noise: number | null;
}

export interface SearchMap {
  grid: HeatMapGrid;
  /** Names of the axes; they say when values are put into bins. */
  xName: string;
  yName: string;
  facetKnobs: string[];
  /** Whether a cell shows the best of several configurations. */
  best: boolean;
  by: string;
  /** What `by` can be. */
  choices: string[];
  /** Where a configuration lies. */
  place: (configuration: Configuration) => { x: KnobValue; y: KnobValue };
}

export function searchMap({ trials, scores, current, axes, free, by, noise }: SearchMapInput): SearchMap {
  const others = free.filter((name) => name !== axes.x && name !== axes.y);
  const configurations = [...trials.map(({ configuration }) => configuration), ...(current ? [current] : [])];
  const varying = varyingKnobs(configurations.map((configuration) => facetLabel(configuration, others)));
  const combinations = new Set(
    configurations.map((configuration) => JSON.stringify(facetLabel(configuration, varying))),
  ).size;
  const choices = [TOGETHER, ...varying, ...(varying.length > 1 ? [EACH] : [])];
  const wanted =
    by !== undefined && choices.includes(by) ? by : combinations <= MOST_FACETS ? EACH : TOGETHER;
  const chosen =
    varying.length === 0 || (wanted === EACH && combinations > MOST_CHOSEN_FACETS) ? TOGETHER : wanted;
  const facetKnobs = chosen === TOGETHER ? [] : chosen === EACH ? varying : [chosen];
  const xBins = bins(
    configurations.flatMap((configuration) => configuration[axes.x] ?? []),
    MOST_VALUES,
  );
  const yBins = bins(
    configurations.flatMap((configuration) => configuration[axes.y] ?? []),
    MOST_VALUES,
  );
  const [toX, toY] = [coarser(configurations, axes.x, xBins), coarser(configurations, axes.y, yBins)];
  const moved = (configuration: Configuration): Configuration => ({
    ...configuration,
    [axes.x]: toX(configuration[axes.x] as KnobValue),
    [axes.y]: toY(configuration[axes.y] as KnobValue),
  });
  const best = xBins !== null || yBins !== null || facetKnobs.length < varying.length;
  const grid = heatMapGrid(
    trials.map((trial) => ({
      ...trial,
      configuration: moved(trial.configuration),
      // A cell says why nothing was verified in it, rather than show an estimate.
      score: verifiedScore(scores.get(trial.configuration_hash)),
    })),
    axes.x,
    axes.y,
    facetKnobs,
    current && moved(current),
    noise,
  );
  return {
    grid,
    xName: xBins ? `${axes.x}, from` : axes.x,
    yName: yBins ? `${axes.y}, from` : axes.y,
    facetKnobs,
    best,
    by: varying.length === 1 && chosen === EACH ? (varying[0] as string) : chosen,
    choices,
    place: (configuration) => {
      const at = moved(configuration);
      return { x: at[axes.x] ?? '', y: at[axes.y] ?? '' };
    },
  };
}

function coarser(
  configurations: readonly Configuration[],
  knob: string,
  binned: ((value: KnobValue) => KnobValue) | null,
): (value: KnobValue) => KnobValue {
  if (binned === null) return (value) => value;
  const values = configurations.flatMap((configuration) => configuration[knob] ?? []);
  return bins(values, BINS) ?? binned;
}
