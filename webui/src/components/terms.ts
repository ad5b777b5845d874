// The glossary, in the order of the alphabet: what the words of the field mean here. Its texts stand nowhere else.

export interface Entry {
  word: string;
  meaning: string;
  /** As what it is found in a text, whatever the case; of words that everybody uses otherwise too, nothing. */
  forms: readonly string[];
}

const ENTRIES = [
  {
    word: 'Accept queue',
    meaning:
      'Connections that the kernel has made and the server has not taken yet. When it is full, new ones are dropped.',
    forms: ['accept queue'],
  },
  {
    word: 'Affinity plan',
    meaning:
      'Which CPU serves which worker of the server, and which interrupt or receive queue of a network card.',
    forms: ['affinity plan', 'affinity'],
  },
  {
    word: 'Baseline',
    meaning:
      'In live tuning, a second server beside production with today’s file. The canary is compared with it, since both are equally young and get equally little traffic.',
    forms: ['baseline'],
  },
  {
    word: 'Block',
    meaning:
      'A part of the confirmation in which every finalist is measured once, in a random order. What drifts meanwhile hits all of them alike.',
    forms: [],
  },
  {
    word: 'Budget',
    meaning: 'How many configurations the search measures at most.',
    forms: ['budget'],
  },
  {
    word: 'Calibration',
    meaning:
      'The first phase of a run: it finds the rate at which the default falls behind, which the ladder is made of.',
    forms: ['calibration'],
  },
  {
    word: 'Canary',
    meaning:
      'In live tuning, a second server beside production that tries a candidate on a small share of the connections.',
    forms: ['canary'],
  },
  {
    word: 'Capacity',
    meaning:
      'The highest rate that a configuration follows, or keeps up with: it answers at least 95 % of the requests, and all rules and constraints hold. Found by raising the load until it does not.',
    forms: ['capacity', 'follows', 'keeps up', 'kept up'],
  },
  {
    word: 'Confirmation',
    meaning:
      'The last phase of a run: the default and the best of the search are measured again, side by side, since the best of many is also the luckiest.',
    forms: ['confirmation'],
  },
  {
    word: 'Constraint',
    meaning:
      'A limit that must hold at every rate, of latency or of memory. A trial that breaks one does not count.',
    forms: ['constraint', 'constraints'],
  },
  {
    word: 'Context switch',
    meaning: 'A CPU turns from one thread to another. Many of them for each reply cost more than they bring.',
    forms: ['context switches', 'context switch'],
  },
  {
    word: 'CPU per request',
    meaning: 'The CPU time of all processes of the server, divided by the requests that they answered.',
    forms: ['CPU per 1,000 requests', 'CPU time per request'],
  },
  {
    word: 'CPU state',
    meaning:
      'What a CPU spends its time on: user, programs; system, the kernel for them; irq and softirq, devices; iowait, waiting for a disk; steal, taken by the hypervisor; idle, nothing.',
    forms: ['time by state'],
  },
  {
    word: 'Default',
    meaning:
      'The configuration that gains are over: what the server does as it comes, or with the values of your own file.',
    forms: ['the default'],
  },
  {
    word: 'Diagnosis',
    meaning:
      'Rules that look through the counters for what limits the server. Each finding names its evidence.',
    forms: [],
  },
  {
    word: 'Finalist',
    meaning: 'A configuration that takes part in the confirmation: the default, and the best of the search.',
    forms: ['finalist', 'finalists'],
  },
  {
    word: 'Gain',
    meaning:
      'How much more the recommended configuration does than the default, as a share of what the default does.',
    forms: ['gain'],
  },
  {
    word: 'Goodput',
    meaning:
      'What the replies carry that came in time, in Mbps. A reply after the time limit counts nothing.',
    forms: ['goodput'],
  },
  {
    word: 'Guard',
    meaning: 'A limit of live tuning. A candidate that breaks it loses its traffic at once.',
    forms: ['guards'],
  },
  {
    word: 'Importance',
    meaning: 'How much of the differences between the scores of all trials goes with the values of one knob.',
    forms: [],
  },
  {
    word: 'Interrupt',
    meaning:
      'A device asks a CPU for attention, a network card for its packets. All of them on one CPU can fill it.',
    forms: ['interrupts'],
  },
  {
    word: 'Interval',
    meaning:
      'Where the true value lies with the confidence that stands beside it: in 95 of 100 such runs a 95 % interval holds it.',
    forms: ['interval', '95 % interval'],
  },
  {
    word: 'Knob',
    meaning: 'One setting of a server or of the kernel that can be tuned.',
    forms: ['knob', 'knobs'],
  },
  {
    word: 'Ladder',
    meaning: 'The rates of a run, lowest first. Every trial of the search meets the same ones.',
    forms: ['ladder'],
  },
  {
    word: 'Latency',
    meaning:
      'The time from when a request should have been sent to the end of its reply. So a client that had to wait for its turn counts as well.',
    forms: ['latency'],
  },
  {
    word: 'Lease',
    meaning:
      'In a fleet, the right of one station to carry out one trial. It ends by itself if the station is gone.',
    forms: ['lease'],
  },
  {
    word: 'Load generator',
    meaning:
      'The program that plays the clients: it sends requests at a given rate, and does not wait for replies.',
    forms: ['load generator'],
  },
  {
    word: 'Noise',
    meaning:
      'By how much the scores of one configuration differ when it is measured again. While that has been measured a few times only, most of it is assumed.',
    forms: ['noise'],
  },
  {
    word: 'Objective',
    meaning: 'What makes one score of a trial: the mean goodput over the ladder unless you choose another.',
    forms: ['objective'],
  },
  {
    word: 'p50, p99, p99.9',
    meaning: 'The time within which that percentage of the replies had come.',
    forms: ['p50', 'p90', 'p99', 'p99.9', 'p999'],
  },
  {
    word: 'Page cache',
    meaning:
      'Memory in which the kernel keeps what it has read of files. Files that are not there come from the disk.',
    forms: ['page cache'],
  },
  {
    word: 'Preset',
    meaning: 'A named set of settings for a run: how long it measures, how much it tries, how it searches.',
    forms: ['preset'],
  },
  {
    word: 'PSS',
    meaning: 'Proportional set size: the memory of all server processes, what they share counted once.',
    forms: ['PSS'],
  },
  {
    word: 'Rank',
    meaning: 'The place of a finalist. Finalists that cannot be told apart share one.',
    forms: ['rank'],
  },
  {
    word: 'Rate',
    meaning: 'The load that clients offer, in requests per second, whatever the server does.',
    forms: ['offered rate'],
  },
  {
    word: 'Refault',
    meaning:
      'A page of a file is read again soon after it was dropped from the page cache, which is too small.',
    forms: ['refaults'],
  },
  {
    word: 'Run',
    meaning:
      'One task of tuning: a server, a workload, the knobs that may change, its trials and its outcome.',
    forms: [],
  },
  {
    word: 'Score',
    meaning: 'What the objective makes of a trial. More is better.',
    forms: ['score', 'scores'],
  },
  {
    word: 'Seed',
    meaning:
      'The number that all chance of a run comes from. The same seed gives the same sessions in the same order.',
    forms: ['seed'],
  },
  {
    word: 'Service time',
    meaning: 'How long the server worked on a request, by its own log: without the way there and back.',
    forms: ['service time'],
  },
  {
    word: 'Session',
    meaning: 'What one client does: its requests, one after another, with pauses between them.',
    forms: [],
  },
  {
    word: 'Softirq',
    meaning: 'Work of the kernel on packets after an interrupt, on the CPU that got it.',
    forms: ['softirq'],
  },
  {
    word: 'Stability',
    meaning: 'What becomes of the score when one knob of the best configuration is a step off.',
    forms: [],
  },
  {
    word: 'Station',
    meaning: 'A host of a fleet that carries out trials or loads the servers of others.',
    forms: ['station'],
  },
  {
    word: 'Strategy',
    meaning: 'How a search chooses what to measure next.',
    forms: ['strategy'],
  },
  {
    word: 'Target',
    meaning: 'The kind of server that is tuned.',
    forms: ['target'],
  },
  {
    word: 'Timeout',
    meaning:
      'A client has given up. Whether the server had read the request by then tells a full queue from a slow reply.',
    forms: ['timeouts', 'timed out'],
  },
  {
    word: 'Trial',
    meaning: 'One configuration, measured at the rates of the ladder.',
    forms: ['trial', 'trials'],
  },
  {
    word: 'Verdict',
    meaning:
      'What became of a trial: verified, or why it does not count. A trial is verified if all clients were served fairly and every constraint held.',
    forms: ['verified', 'verdict', 'verification'],
  },
  {
    word: 'Workload',
    meaning: 'What clients ask for, how they behave, and under which memory and link the server answers.',
    forms: ['workload', 'workloads'],
  },
] as const satisfies readonly Entry[];

export type Word = (typeof ENTRIES)[number]['word'];

export const TERMS: readonly (Entry & { word: Word })[] = ENTRIES;

/** Where an entry stands on the page of the glossary. */
export const anchorOf = (word: string): string => word.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');

/** A piece of a text; with the word of the glossary that it is, if it is one. */
export interface Piece {
  text: string;
  word?: Word;
}

const BY_FORM = new Map(
  TERMS.flatMap(({ word, forms }) => forms.map((form) => [form.toLowerCase(), word] as const)),
);
const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
// Longer forms go first: "p99.9" is not "p99" with something behind it.
const ANY_FORM = new RegExp(
  `(?<![\\w.])(${[...BY_FORM.keys()]
    .toSorted((a, b) => b.length - a.length)
    .map(escaped)
    .join('|')})(?!\\w|\\.\\d)`,
  'gi',
);

/** Takes a text apart: each word of the glossary where it first stands, and what is between. */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  const seen = new Set<Word>();
  let end = 0;
  for (const match of text.matchAll(ANY_FORM)) {
    const word = BY_FORM.get(match[0].toLowerCase());
    if (word === undefined || seen.has(word)) continue;
    seen.add(word);
    if (match.index > end) pieces.push({ text: text.slice(end, match.index) });
    pieces.push({ text: match[0], word });
    end = match.index + match[0].length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end) });
  return pieces;
}
