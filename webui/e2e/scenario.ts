// What happens to the simulated trials of a demo, and where one waits until a test has seen what it came for.
//
// The daemon reads the scenario anew before every rate, so a test decides how far a run comes, and no test has to
// be quicker than a run.

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where a trial waits: before its rate number `rate`; null stands for every trial. */
interface Hold {
  trial: number | null;
  rate: number;
}

export class Scenario {
  private readonly file: string;

  /** The scenario of the demo in a directory. */
  constructor(directory: string) {
    this.file = join(directory, 'scenario.json');
  }

  /** That trial waits before its first rate, or each does; and nothing else that was held. */
  hold(trial: number | 'each'): void {
    this.set({ trial: trial === 'each' ? null : trial, rate: 1 });
  }

  /** Whatever waits goes on. */
  release(): void {
    this.set(null);
  }

  private set(hold: Hold | null): void {
    const scenario = JSON.parse(readFileSync(this.file, 'utf8')) as object;
    // Nobody watches: a demo's rates take time only for those who do.
    writeFileSync(`${this.file}.new`, JSON.stringify({ ...scenario, pace_s: 0, hold }));
    renameSync(`${this.file}.new`, this.file);
  }
}
