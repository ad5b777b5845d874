// Live tuning in words: states, decisions, what changes, what a decision rests on. Pure.

import type {
  AttachSpec,
  LiveDecisionKind,
  LiveDecisionReply,
  LiveMode,
  LiveServer,
  LiveState,
} from '../../api/generated';
import {
  formatBytes,
  formatCount,
  formatCpu,
  formatGain,
  formatMicroseconds,
  formatNumber,
  formatPercent,
  formatPerSecond,
  formatRate,
} from '../../maths/format';

export const MODES: readonly { mode: LiveMode; help: string }[] = [
  { mode: 'advise', help: 'Observes, and says what it would try and why. Touches nothing.' },
  { mode: 'canary', help: 'Tries candidates on a small share of the connections; you promote or reject.' },
  {
    mode: 'auto',
    help: 'Promotes by itself what has been shown to be better, and takes it back if it harms.',
  },
];

export const STATE_WORDS: Record<LiveState, string> = {
  observing: 'observing',
  episode: 'trying a candidate',
  'waiting-for-a-person': 'waiting for you',
  promoting: 'promoting',
  watching: 'watching',
  ended: 'ended',
};

export const KIND_WORDS: Record<LiveDecisionKind, string> = {
  attached: 'Attached',
  observed: 'Observed',
  proposal: 'Proposal',
  began: 'Began',
  'next-step': 'Next step',
  'roll-back': 'Rolled back',
  'give-up': 'Given up',
  promote: 'Worth promoting',
  promoted: 'Promoted',
  kept: 'Kept',
  undone: 'Undone',
  rejected: 'Rejected',
  context: 'Other traffic',
  paused: 'Paused',
  detached: 'Detached',
  trouble: 'Trouble',
};

/** A knob that changes: `worker_processes: 1 → 2`. */
export const changesOf = ({ configuration }: Pick<LiveDecisionReply, 'configuration'>): string[] =>
  Object.entries(configuration ?? {}).map(([knob, [before, after]]) => `${knob}: ${before} → ${after}`);

/** `nginx on 127.0.0.1:80 (nginx.service)`; by its process where it has no unit. */
export function serverTitle(server: Pick<LiveServer, 'target' | 'pid' | 'addresses' | 'unit'>): string {
  const at = server.addresses.length > 0 ? ` on ${server.addresses.join(', ')}` : '';
  return `${server.target}${at} (${server.unit || `process ${server.pid}`})`;
}

/** What of a context is told, in this order. */
const TRAFFIC: readonly { name: string; label: string; format: (value: number) => string }[] = [
  { name: 'rate_rps', label: 'Rate', format: formatRate },
  { name: 'reply_bytes', label: 'Size of a reply', format: formatBytes },
  { name: 'requests_per_connection', label: 'Requests on a connection', format: formatNumber },
  { name: 'dynamic_share', label: 'Dynamic', format: formatPercent },
];

/** What the traffic is like, as labels with values; nothing where it is not known. */
export function trafficOf(context: Readonly<Record<string, unknown>> | null): [string, string][] {
  return TRAFFIC.flatMap(({ name, label, format }) => {
    const value = context?.[name];
    return typeof value === 'number' ? [[label, format(value)] satisfies [string, string]] : [];
  });
}

const EVIDENCE: Readonly<Record<string, { label: string; format: (value: number) => string }>> = {
  requests_per_s: { label: 'requests', format: formatRate },
  cpu_s_per_1000: { label: 'CPU time per request', format: (value) => formatCpu(value / 1000) },
  service_ms: { label: 'service time', format: (value) => formatMicroseconds(1000 * value) },
  errors_per_s: { label: 'errors', format: formatPerSecond },
  bytes_per_s: { label: 'sent', format: (value) => `${formatBytes(value)}/s` },
  waiting: { label: 'waiting connections', format: formatCount },
};

/** What a decision rests on, as labels with values, however deep they lie: `canary, errors`. */
export function evidenceOf(evidence: Readonly<Record<string, unknown>>, above = ''): [string, string][] {
  return Object.entries(evidence).flatMap(([name, value]) => {
    const known = EVIDENCE[name];
    const label = [above, known?.label ?? name.replaceAll('_', ' ')].filter(Boolean).join(', ');
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return evidenceOf(value as Record<string, unknown>, label);
    }
    return [[label, inWords(value, known?.format)] satisfies [string, string]];
  });
}

function inWords(value: unknown, format: (value: number) => string = formatNumber): string {
  if (typeof value === 'number') return format(value);
  if (!Array.isArray(value)) return String(value ?? '–');
  if (value.length === 2 && value.every((edge) => edge === null || typeof edge === 'number')) {
    return value.map((edge) => (edge === null ? 'not known' : formatGain(edge))).join(' to ');
  }
  return value.map((each) => String(each)).join('; ');
}

/** What a session would try now, in its order: the latest proposal, and what would come after it. */
export function adviceOf(decisions: readonly LiveDecisionReply[]): string[] {
  const latest = decisions.findLast(({ kind }) => kind === 'proposal' || kind === 'context');
  if (latest?.kind !== 'proposal') return [];
  const { next } = latest.evidence;
  return [latest.sentence, ...(Array.isArray(next) ? next.map(String) : [])];
}

/** One guard a line. */
export const guardsOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

/** The command that does the same on the machine. */
export function attachCommand({
  server,
  mode,
  objective,
  guards,
  quiet_hours,
  by_reload,
}: AttachSpec): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const options = [
    ...(mode === 'advise' ? [] : [`--mode ${mode}`]),
    ...(objective === 'cost' ? [] : [`--objective ${objective}`]),
    ...(guards ?? []).map((guard) => `--guard ${quoted(guard)}`),
    ...(quiet_hours ? [`--quiet-hours ${quoted(quiet_hours)}`] : []),
    ...(by_reload ? ['--by-reload'] : []),
  ];
  return ['trimtab live attach', server, ...options].join(' ');
}
