// The demo that the tests of a file share: a daemon of theirs with the runs of seeds.ts, as they were made, whatever
// other files do before or meanwhile.

import { OwnDaemon, PORT } from './daemon';
import { test } from './fixtures';
import { Scenario } from './scenario';

/** To be called once in a file; each has an `offset` of its own for its port. */
export function withDemo(offset: number): { directory: string; scenario: Scenario } {
  const daemon = new OwnDaemon(PORT + offset, { demo: true });
  test.use({ baseURL: daemon.url });
  test.beforeAll(() => daemon.start(process.env.TRIMTAB_E2E_SEEDS));
  test.afterAll(() => daemon.remove());
  return { directory: daemon.var, scenario: new Scenario(daemon.var) };
}
