import { expect, it } from 'vitest';
import type { LiveDecisionReply, LiveServer } from '../../api/generated';
import { adviceOf, attachCommand, changesOf, evidenceOf, guardsOf, serverTitle, trafficOf } from './words';

const decision = (change: Partial<LiveDecisionReply>): LiveDecisionReply => ({
  id: 1,
  at: '2026-11-23T12:00:00Z',
  kind: 'proposal',
  sentence: 'would try two workers',
  share: 0,
  configuration: null,
  evidence: {},
  ...change,
});

const SERVER: LiveServer = {
  target: 'nginx',
  pid: 812,
  program: '/usr/sbin/nginx',
  processes: 3,
  user: 'root',
  addresses: ['127.0.0.1:80'],
  file: '/etc/nginx/nginx.conf',
  unit: 'nginx.service',
  obstacles: [],
  no_reload: null,
  values: {},
  trouble: null,
  attachable: true,
};

it('names a server by its unit, and by its process where it has none', () => {
  expect(serverTitle(SERVER)).toBe('nginx on 127.0.0.1:80 (nginx.service)');
  expect(serverTitle({ ...SERVER, unit: null, addresses: [] })).toBe('nginx (process 812)');
});

it('tells what changes with the values before and after', () => {
  const configuration: LiveDecisionReply['configuration'] = { workers: [1, 2], sendfile: ['off', 'on'] };
  expect(changesOf(decision({ configuration }))).toEqual(['workers: 1 → 2', 'sendfile: off → on']);
  expect(changesOf(decision({}))).toEqual([]);
});

it('tells the traffic with units, and nothing of what is not known', () => {
  expect(trafficOf({ rate_rps: 1200, reply_bytes: 2048, requests_per_connection: null })).toEqual([
    ['Rate', '1,200\u00a0requests/s'],
    ['Size of a reply', '2.00\u00a0KiB'],
  ]);
  expect(trafficOf(null)).toEqual([]);
});

it('tells evidence however deep it lies, figures with their units and intervals as changes', () => {
  const canary = { cpu_s_per_1000: 0.25, service_ms: 1.5, errors_per_s: 0 };
  expect(evidenceOf({ canary, change: { cost: [-0.1, null] }, runs: ['a', 'b', 'c'], periods: 40 })).toEqual([
    ['canary, CPU time per request', '250\u00a0µs'],
    ['canary, service time', '1.50\u00a0ms'],
    ['canary, errors', '0/s'],
    ['change, cost', '-10\u00a0% to not known'],
    ['runs', 'a; b; c'],
    ['periods', '40.0'],
  ]);
});

it('advises what the latest proposal says and what would follow, until the traffic is another', () => {
  const old = decision({ sentence: 'would try an old thing' });
  const evidence = { next: ['would try three workers'] };
  const latest = decision({ id: 2, evidence });
  const advice = ['would try two workers', 'would try three workers'];
  expect(adviceOf([old, latest, decision({ id: 3, kind: 'give-up' })])).toEqual(advice);
  expect(adviceOf([latest, decision({ id: 3, kind: 'context' })])).toEqual([]);
  expect(adviceOf([])).toEqual([]);
});

it('reads one guard a line', () => {
  expect(guardsOf(' p99 <= 50ms \n\nerrors <= 0.1%\n')).toEqual(['p99 <= 50ms', 'errors <= 0.1%']);
});

it('makes a command that a shell reads as it was meant', () => {
  const spec = { server: '812', mode: 'advise', objective: 'cost' } as const;
  expect(attachCommand({ ...spec, guards: [], quiet_hours: null })).toBe('trimtab live attach 812');
  const asked = {
    mode: 'auto',
    objective: 'time',
    guards: ["p99' <= 50ms"],
    quiet_hours: '22:00-06:00',
  } as const;
  expect(attachCommand({ ...spec, ...asked, guards: [...asked.guards] })).toBe(
    "trimtab live attach 812 --mode auto --objective time --guard 'p99'\\'' <= 50ms' --quiet-hours '22:00-06:00'",
  );
});
