// The glossary, in the order of the alphabet.

export const TERMS: readonly { word: string; meaning: string }[] = [
  {
    word: 'Block',
    meaning:
      'A part of the confirmation in which every finalist is measured once, in a random order. What drifts meanwhile hits all of them alike.',
  },
  {
    word: 'Capacity',
    meaning:
      'The highest rate that a configuration follows while all rules and constraints hold, found by raising the load until it does not.',
  },
  {
    word: 'Confirmation',
    meaning:
      'The last phase of a run: the default and the best of the search are measured again, side by side, since the best of many is also the luckiest.',
  },
  {
    word: 'Default',
    meaning:
      'The configuration that gains are over: what the server does as it comes, or with the values of your own file.',
  },
  {
    word: 'Goodput',
    meaning:
      'What the replies carry that came in time, in Mbps. A reply after the time limit counts nothing.',
  },
  {
    word: 'Interval',
    meaning:
      'Where the true value lies with the confidence that stands beside it: in 95 of 100 such runs a 95 % interval holds it.',
  },
  { word: 'Knob', meaning: 'One setting of a server or of the kernel that can be tuned.' },
  {
    word: 'Ladder',
    meaning: 'The rates of a run, lowest first. Every trial of the search meets the same ones.',
  },
  {
    word: 'Objective',
    meaning: 'What makes one score of a trial: the mean goodput over the ladder unless you choose another.',
  },
  { word: 'p50, p99, p99.9', meaning: 'The time within which that percentage of the replies had come.' },
  {
    word: 'PSS',
    meaning: 'Proportional set size: the memory of all server processes, what they share counted once.',
  },
  { word: 'Rate', meaning: 'The load that clients offer, in requests per second, whatever the server does.' },
  {
    word: 'Run',
    meaning:
      'One task of tuning: a server, a workload, the knobs that may change, its trials and its outcome.',
  },
  { word: 'Score', meaning: 'What the objective makes of a trial. More is better.' },
  { word: 'Target', meaning: 'The kind of server that is tuned.' },
  { word: 'Trial', meaning: 'One configuration, measured at the rates of the ladder.' },
  {
    word: 'Verdict',
    meaning:
      'What became of a trial: verified, or why it does not count. A trial is verified if all clients were served fairly and every constraint held.',
  },
  {
    word: 'Workload',
    meaning: 'What clients ask for, how they behave, and under which memory and link the server answers.',
  },
];
