// What objectives and strategies are called in plain words. The name that commands, files and the API use stands beside.

const PLAIN: Readonly<Record<string, string>> = {
  // Objectives, and what a run may be tuned for besides.
  'condensed-area': 'Mean goodput over the ladder',
  peak: 'Highest goodput',
  sustained: 'Goodput under the heaviest load',
  mat: 'Highest goodput within a latency limit',
  rss: 'Memory at its peak (PSS)',
  p999: 'Latency p99.9 at the lowest rate',
  // Strategies.
  'surrogate-race': 'Model, then repeats',
  'coarse-to-fine': 'Coarse grid, then finer ones',
  grid: 'Grid',
  'hill-climb': 'Hill climbing',
  random: 'Random',
  tpe: 'Parzen estimator (Optuna)',
  gp: 'Gaussian process',
  race: 'Many once, then repeats',
};

/** The plain name of an objective or a strategy, or its own where it has none; without the limit of `mat: p999 <= 4ms`. */
export const plainName = (name: string): string => PLAIN[name.split(':')[0] ?? name] ?? name;

/** The same within a sentence. */
export const plainInText = (name: string): string => {
  const plain = plainName(name);
  return plain === name ? name : plain.charAt(0).toLowerCase() + plain.slice(1);
};

/** The plain name with the exact one beside it, as a choice shows it. */
export const bothNames = (name: string): string =>
  plainName(name) === name ? name : `${plainName(name)} (${name})`;
