// What runs are made of, as rows with one text for each run. Pure.

import type { ComparedRun } from '../../api/generated';
import { bothNames } from '../../maths/plainNames';
import { rungsOf } from '../../maths/rungs';

export interface DifferenceRow {
  name: string;
  /** Whether the row is a knob of the winner. */
  knob: boolean;
  texts: string[];
}

const ABOUT: readonly [string, (run: ComparedRun) => string][] = [
  ['Target', (run) => run.target],
  ['Workload', (run) => run.workload],
  ['Objective', (run) => bothNames(run.objective)],
  ['Second objective', (run) => (run.second_objective === null ? '–' : bothNames(run.second_objective))],
  ['Preset', (run) => run.preset],
  ['Strategy', (run) => bothNames(run.strategy)],
  ['Host', (run) => run.host],
  ['Version', (run) => run.target_version],
  ['State', (run) => run.state],
  ['Trials', (run) => String(run.trials)],
  ['Ladder', (run) => run.ladder.map(rungsOf(run.loop).format).join(', ') || '–'],
  ['Tags', (run) => run.tags.join(', ') || '–'],
];

/** Every property of the runs and every knob of their winners; only those that differ unless `all`. */
export function differenceRows(runs: readonly ComparedRun[], all: boolean): DifferenceRow[] {
  const knobs = [...new Set(runs.flatMap(({ best }) => Object.keys(best ?? {})))];
  const rows = [
    ...ABOUT.map(([name, text]) => ({ name, knob: false, texts: runs.map(text) })),
    ...knobs.map((name) => ({
      name,
      knob: true,
      texts: runs.map(({ best }) => String(best?.[name] ?? '–')),
    })),
  ];
  return all ? rows : rows.filter(({ texts }) => new Set(texts).size > 1);
}
