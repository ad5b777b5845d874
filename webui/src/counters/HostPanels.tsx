import { TimeChart } from '../charts/TimeChart';
import type { TimeView } from '../charts/timeView';
import { Panel } from '../components/Panel';
import { formatBytes, formatMany, formatNumber, formatPerSecond } from '../maths/format';
import type { ScalarColumn } from '../samples/columns';

const bytesPerSecond = (value: number) => formatBytes(value) + (Number.isNaN(value) ? '' : '/s');
const tasks = (value: number) => formatNumber(value, 2);

interface PanelSpec {
  title: string;
  description?: string;
  label: string;
  format: (value: number) => string;
  series: readonly { column: ScalarColumn; label: string }[];
  empty?: string;
  bytes?: boolean;
}

/** Also of a server that ran and does not tell it. */
const NOT_COUNTED = 'No server that counts this has been running in this window.';

const PANELS: readonly PanelSpec[] = [
  {
    title: 'Connections',
    description: 'By the server’s own count, while one runs.',
    label: 'Open connections of the server',
    format: formatMany,
    series: [{ column: 'connections', label: 'open' }],
    empty: NOT_COUNTED,
  },
  {
    title: 'Requests by status',
    description: 'Replies the server has sent, by the hundred of their status.',
    label: 'Replies per second by status',
    format: formatPerSecond,
    series: [
      { column: 'replies2xx', label: '2xx' },
      { column: 'replies3xx', label: '3xx' },
      { column: 'replies4xx', label: '4xx' },
      { column: 'replies5xx', label: '5xx' },
    ],
    empty: NOT_COUNTED,
  },
  {
    title: 'Accepts',
    description: 'Connections taken from the accept queue.',
    label: 'Connections accepted per second',
    format: formatPerSecond,
    series: [{ column: 'accepts', label: 'accepted' }],
    empty: NOT_COUNTED,
  },
  {
    title: 'Accepts per phase',
    description: 'How many connections the server takes each time it turns to its accept queue.',
    label: 'Connections accepted in each accept phase',
    format: tasks,
    series: [{ column: 'acceptsPerPhase', label: 'per phase' }],
    empty: NOT_COUNTED,
  },
  {
    title: 'Queue drops',
    description: 'Connections and packets that met a full queue.',
    label: 'Drops per second by queue',
    format: formatPerSecond,
    series: [
      { column: 'listenOverflows', label: 'accept queue' },
      { column: 'synDrops', label: 'SYN queue' },
      { column: 'softnetDrops', label: 'receive queue' },
    ],
  },
  {
    title: 'Retransmits',
    description: 'TCP segments sent again, of the whole host.',
    label: 'Retransmitted segments per second',
    format: formatPerSecond,
    series: [{ column: 'retransmits', label: 'segments' }],
  },
  {
    title: 'Context switches and interrupts',
    description: 'Of the whole host.',
    label: 'Context switches and interrupts per second',
    format: formatPerSecond,
    series: [
      { column: 'contextSwitches', label: 'switches' },
      { column: 'interrupts', label: 'interrupts' },
    ],
  },
  {
    title: 'Run queue',
    description: 'Tasks that could run, and tasks that wait for a disk.',
    label: 'Runnable and blocked tasks',
    format: tasks,
    series: [
      { column: 'runQueue', label: 'runnable' },
      { column: 'blocked', label: 'blocked' },
    ],
  },
  {
    title: 'Page cache',
    description: 'Memory that caches files, and memory that could be had.',
    label: 'Memory that caches files, and memory available',
    format: formatBytes,
    series: [
      { column: 'pageCache', label: 'page cache' },
      { column: 'available', label: 'available' },
    ],
    bytes: true,
  },
  {
    title: 'Disk',
    description: 'Blocks read in and written out.',
    label: 'Bytes read and written per second',
    format: bytesPerSecond,
    series: [
      { column: 'bytesIn', label: 'in' },
      { column: 'bytesOut', label: 'out' },
    ],
    bytes: true,
  },
  {
    title: 'Refaults',
    description: 'File pages read again soon after they were dropped: the cache is too small.',
    label: 'Page cache refaults and major faults per second',
    format: formatPerSecond,
    series: [
      { column: 'refaults', label: 'refaults' },
      { column: 'majorFaults', label: 'major faults' },
    ],
  },
];

/** Counters of the kernel and of the server, one chart a subject. */
export function HostPanels({ view }: { view: TimeView }) {
  return PANELS.map(({ title, description, ...chart }) => (
    <Panel key={title} title={title} description={description}>
      <TimeChart {...chart} view={view} height={150} />
    </Panel>
  ));
}
