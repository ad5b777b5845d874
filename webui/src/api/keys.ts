// Keys of TanStack Query that the generated client does not make: those that stand for several questions, and those
// of what the live stream alone tells. The rest come from `…QueryKey` and `…Options` of the generated client.

/** The name of a request, as the generated client has it. */
type Request = keyof typeof import('./generated');

/** The same question, whatever it is asked with. */
export const anyOf = (_id: Request) => [{ _id }] as const;

/** Every question about a run: the run, its trials, its events, its analysis. */
export const ofRun = (run_id: number) => [{ path: { run_id } }] as const;

export const progressKey = ['progress'] as const;
export const ladderSoFarKey = ['ladder-so-far'] as const;
