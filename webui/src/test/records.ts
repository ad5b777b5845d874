// Records as the API sends them, for tests: complete, and changed where a test cares.

import type {
  CounterValues,
  HostReply,
  Knob,
  LoadProgress,
  Measurement,
  MeasurementSummary,
  Outcome,
  Performance,
  Preset,
  Progress,
  RunDetail,
  Space,
  StationView,
  TargetReply,
  TrialDetail,
  TrialSummary,
} from '../api/generated';

export function counterSample(time: number): CounterValues {
  const shares = { user: 20, nice: 5, system: 10, idle: 60, iowait: 1, irq: 0, softirq: 4, steal: 0 };
  return {
    time,
    interval_s: 1,
    missing: {},
    cpu: {
      total: shares,
      cpus: [
        { cpu: 0, ...shares },
        { cpu: 1, ...shares },
      ],
      run_queue: 2,
      blocked: 0,
      context_switches_per_s: 1200,
      interrupts_per_s: 800,
    },
    memory: { page_cache_bytes: 2 ** 30, available_bytes: 2 ** 31 },
    network: { softnet: [], listen_drops_per_s: 0, listen_overflows_per_s: 0 },
  };
}

export function loadProgress(change: Partial<LoadProgress> = {}): LoadProgress {
  return {
    elapsed_s: 1,
    sessions_open: 100,
    requests_replied: 5000,
    requests_timed_out: 0,
    reply_rate_rps: 5000,
    goodput_mbps: 600,
    reply_p50_us: 300,
    reply_p90_us: 900,
    reply_p99_us: 2100,
    reply_p999_us: 5000,
    ...change,
  };
}

export const space: Space = {
  knobs: [
    {
      name: 'sendfile',
      kind: 'categorical',
      scale: 'linear',
      low: null,
      high: null,
      choices: ['nonblocking', 'blocking'],
      default: 'nonblocking',
      unit: '',
      resource_weight: 0,
      needs_restart: false,
      scope: 'server',
      help: 'How a reply is sent.',
    },
    {
      name: 'workers',
      role: 'workers',
      kind: 'integer',
      scale: 'log',
      low: 1,
      high: 1024,
      choices: [],
      default: 1,
      unit: 'processes',
      resource_weight: 1,
      needs_restart: true,
      scope: 'server',
      help: 'Worker processes.',
    },
    {
      name: 'max_connections',
      role: 'connections',
      kind: 'integer',
      scale: 'log',
      low: 1,
      high: 1_000_000,
      choices: [],
      default: 1024,
      unit: 'connections',
      resource_weight: 1,
      needs_restart: false,
      scope: 'total',
      help: 'Connections over all workers.',
    },
    {
      name: 'backlog',
      kind: 'integer',
      scale: 'log',
      low: 1,
      high: 65535,
      choices: [],
      default: 1024,
      unit: 'connections',
      resource_weight: 0,
      needs_restart: true,
      scope: 'server',
      help: 'Length of the accept queue.',
    },
  ],
  fixed: { backlog: 1024 },
  constraints: [{ smaller: 'workers', larger: 'max_connections' }],
};

export const swappiness: Knob = {
  name: 'swappiness',
  kind: 'integer',
  scale: 'linear',
  low: 0,
  high: 200,
  choices: [],
  default: 60,
  unit: '',
  resource_weight: 0,
  needs_restart: true,
  scope: 'host',
  help: 'How readily memory is swapped out.',
};

export const defaultConfiguration = {
  sendfile: 'nonblocking',
  workers: 1,
  max_connections: 1024,
  backlog: 1024,
};

export function measurement(rate_rps: number, goodput_mbps: number): MeasurementSummary {
  return {
    number: 1,
    rate_rps,
    goodput_mbps,
    reply_rate_rps: rate_rps,
    due_rate_rps: rate_rps,
    requests: {
      offered: 100,
      replied: 99,
      timed_out_before_read: 1,
      timed_out_after_read: 0,
      failed: 0,
      abandoned: 0,
      dropped: 0,
    },
    reply_latency: { p50_us: 300, p90_us: 900, p99_us: 2100, p999_us: 5000, max_us: 9000, mean_us: 400 },
    generator_limited: false,
    held: true,
  };
}

export function trial(number: number, change: Partial<TrialSummary> = {}): TrialSummary {
  return {
    run_id: 7,
    number,
    purpose: 'search',
    level: 0,
    block: 0,
    configuration: defaultConfiguration,
    configuration_hash: change.configuration ? JSON.stringify(change.configuration) : 'abcdefabcdef',
    verdict: 'verified',
    reason: '',
    score: 500,
    second_score: null,
    estimated_score: null,
    started_at: '2026-11-21T10:00:00Z',
    finished_at: '2026-11-21T10:00:11Z',
    proposal_number: number,
    measurements: [measurement(1000, 400), measurement(2000, 600)],
    ...change,
  };
}

const latency = { p50_us: 300, p90_us: 900, p99_us: 2100, p999_us: 5000, max_us: 9000, mean_us: 400 };

function sizeClass(size_bytes: number, replied: number, timed_out_after_read: number) {
  return {
    size_bytes,
    asked: replied + timed_out_after_read,
    replied,
    timed_out_before_read: 0,
    timed_out_after_read,
    failed: 0,
    abandoned: 0,
  };
}

function fullMeasurement(number: number, rate_rps: number): Measurement {
  return {
    ...measurement(rate_rps, 400),
    number,
    duration_s: 2,
    warmup_s: 0.5,
    elapsed_s: 2.1,
    bytes_received: 1e6,
    sessions: {
      offered: 9,
      started: 9,
      completed: 9,
      timed_out_connect: 0,
      timed_out: 0,
      failed: 0,
      dropped: 0,
    },
    connect_latency: latency,
    first_byte_latency: latency,
    failures: {},
    health: { verdict: 'ok', reasons: [] },
    server_stats: { requests: 1090 },
    counters: {
      ...counterSample(100),
      server_workers: { workers: [{ worker: 0, pid: 4711, requests_per_s: 500, cpu: 20 }] },
    },
    size_classes: [sizeClass(102, 990, 0), sizeClass(921_600, 95, 5)],
  };
}

export function trialDetail(change: Partial<TrialDetail> = {}): TrialDetail {
  return {
    ...trial(3),
    verdict: 'failed-verification',
    reason: 'At 2000 requests/s, 5.00 % of the requests for files of 921600 B timed out.',
    score: null,
    server_config: '[server]\nworkers = 1\n',
    measurements: [fullMeasurement(1, 1000), fullMeasurement(2, 2000)],
    thresholds: {
      all_files_limit: 0.1,
      size_limit: 0.02,
      size_over_mean_limit: 0.02,
      failures_limit: 0.001,
      confidence: 0.95,
    },
    violations: [
      {
        rule: 'file-size',
        rate_rps: 2000,
        size_bytes: 921_600,
        count: 5,
        requests: 100,
        share: 0.05,
        limit: 0.02,
      },
    ],
    ...change,
  };
}

export function progress(change: Partial<Progress> = {}): Progress {
  return {
    run_id: 7,
    state: 'running',
    phase: 'searching',
    trial: 3,
    trials_expected: 24,
    configuration: defaultConfiguration,
    rate_rps: 2000,
    rate_index: 1,
    so_far: '',
    rates: 4,
    best: null,
    elapsed_s: 60,
    eta_s: 180,
    fraction: 0.25,
    load: null,
    pause: 'no',
    ...change,
  };
}

export function run(change: Partial<RunDetail> = {}): RunDetail {
  return {
    id: 7,
    host: 'atlas',
    target: 'core',
    target_version: '0.1.0',
    workload: 'specweb99',
    preset: 'quick',
    strategy: 'coarse-to-fine',
    objective: 'condensed-area',
    second_objective: null,
    seed: 1,
    budget_trials: 16,
    state: 'running',
    phase: 'searching',
    error: '',
    name: '',
    archived: false,
    notes: '',
    notes_version: 'none yet',
    tags: [],
    created_at: '2026-11-21T10:00:00Z',
    started_at: '2026-11-21T10:00:00Z',
    finished_at: null,
    trials: 2,
    best_score: 520,
    gain: null,
    capacity_rps: null,
    capacity_gain: null,
    capacity_at_least: false,
    keeps_default: false,
    workload_parameters: {},
    loop: 'open',
    space,
    settings: {},
    base: null,
    fleet: null,
    layout: { server: [0], generator: [1], reason: 'the generator has 1 of 2 cores' },
    ladder: [1000, 2000],
    outcome: null,
    progress: null,
    ...change,
  };
}

export const host: HostReply = {
  name: 'atlas',
  kernel: 'Linux 6.18.0',
  cpu_model: 'Example CPU',
  cpus: 2,
  memory_bytes: 8 * 2 ** 30,
  topology: {},
  layout: { server: [0], generator: [1], reason: 'the generator has 1 of 2 cores' },
  layout_sentence: 'The server runs on CPU 0, the load generator and the agent on CPU 1.',
};

export const target = (name: string, change: Partial<TargetReply> = {}): TargetReply => ({
  name,
  help: `The server ${name}.`,
  missing: '',
  protocol: 'http',
  workload: 'specweb99',
  file: null,
  base_files: [],
  uploads: null,
  ...change,
});

export const preset: Preset = {
  name: 'quick',
  help: 'A first answer within minutes.',
  settings: {
    directories: 10,
    time_scale: 0.1,
    timeout_s: 1,
    calibration_step_s: 1.5,
    rate_duration_s: 2,
    warmup_s: 0.5,
    gap_s: 0,
    ladder_points: 4,
    strategy: 'coarse-to-fine',
    budget_trials: 16,
    coarse_grid: { workers: 4, connections: 5 },
    levels: 3,
    ranges: { workers: { low: 1, high: 32 }, connections: { low: 64, high: 16_384 } },
    confirmation_repeats: 4,
    runners_up: 0,
  },
};

const figure = (mean: number, spread: number) => ({ mean, low: mean - spread, high: mean + spread });

/** What a finalist that follows so many requests per second does. */
export function performance(capacity_rps: number, change: Partial<Performance> = {}): Performance {
  return {
    capacity_rps: figure(capacity_rps, 200),
    capacity_mbps: figure(capacity_rps / 8, 25),
    at_least: false,
    capacity_gain: null,
    load_rps: 5000,
    p50_us: figure(400, 20),
    p99_us: figure(3100, 200),
    p999_us: figure(8000, 900),
    cpu_s_per_1000_requests: figure(0.12, 0.01),
    memory_bytes: figure(48e6, 1e6),
    blocks: 4,
    ...change,
  };
}

export function outcome(change: Partial<Outcome> = {}): Outcome {
  const gain = {
    gain: 0.23,
    low: 0.2,
    high: 0.26,
    significant: true,
    says_nothing: false,
    blocks: 4,
    confidence: 0.95,
  };
  const best = { ...defaultConfiguration, workers: 4 };
  return {
    sentence: 'workers=4 gains 23 % over the default.',
    confirmed: true,
    default: defaultConfiguration,
    best,
    gain,
    capacity_gain: gain,
    capacity_at_least: false,
    ranking: [
      {
        rank: 1,
        is_default: false,
        configuration: best,
        configuration_hash: 'b',
        scores_mbps: [610, 620, 615, null],
        mean_score_mbps: 615,
        gain,
        stability: 'flat',
        is_expert: false,
        performance: performance(9200, { capacity_gain: gain }),
      },
      {
        rank: 2,
        is_default: true,
        configuration: defaultConfiguration,
        configuration_hash: 'd',
        scores_mbps: [500, 500, 500, 500],
        mean_score_mbps: 500,
        gain: null,
        stability: 'unknown',
        is_expert: false,
        performance: performance(5200),
      },
    ],
    verdicts: { verified: 24 },
    front: null,
    factorial: null,
    remeasured: null,
    files: null,
    capacity: null,
    over_hosts: null,
    effects: [],
    written: null,
    workers: '',
    connections: '',
    beyond_figures: 'workers=4 gains 23 % over the default.',
    remark_on_ranks: '',
    ...change,
  };
}

/** A station that has nothing to do. */
export function station(change: Partial<StationView> = {}): StationView {
  return {
    name: 'web1',
    role: 'server',
    state: 'ready',
    doing: '',
    address: 'tls://10.0.0.1:4000',
    settled: true,
    run_id: null,
    trial: null,
    booked_until: null,
    last_seen: null,
    busy: 0.5,
    machine_id: 'one',
    cpu_model: 'a processor',
    cpus: 2,
    kernel: '6.18.0',
    memory_bytes: 2 ** 33,
    free_memory_bytes: 1000,
    cpu_percent: 12,
    network_cards: [],
    servers: { core: '0.1.0', nginx: '1.22.1' },
    trimtab: '0.1.0',
    protocol: 1,
    level: null,
    level_before: null,
    ...change,
  };
}
