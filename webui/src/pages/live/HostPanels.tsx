import { TimeChart } from '../../charts/TimeChart';
import { Panel } from '../../components/Panel';
import { formatBytes, formatCount, formatNumber, formatSi } from '../../maths/format';
import type { View } from './view';

const count = (value: number) => (value < 1000 ? formatCount(value) : formatSi(value));
const perSecond = (value: number) => formatSi(value, '/s');
const tasks = (value: number) => formatNumber(value, 2);

interface PanelSpec {
  title: string;
  description?: string;
  label: string;
  format: (value: number) => string;
  series: readonly { column: string; label: string }[];
  empty?: string;
  bytes?: boolean;
}

const NO_SERVER = 'No server has been running in this window.';

const PANELS: readonly PanelSpec[] = [
  {
    title: 'Connections',
    description: 'By the server’s own count, while one runs.',
    label: 'Open connections of the server',
    format: count,
    series: [{ column: 'connections', label: 'open' }],
    empty: NO_SERVER,
  },
  {
    title: 'Requests and accepts',
    description: 'By the server’s own count, while one runs.',
    label: 'Requests and accepted connections per second',
    format: perSecond,
    series: [
      { column: 'requests', label: 'requests' },
      { column: 'accepts', label: 'accepts' },
    ],
    empty: NO_SERVER,
  },
  {
    title: 'Context switches and interrupts',
    description: 'Of the whole host.',
    label: 'Context switches and interrupts per second',
    format: perSecond,
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
    title: 'Listen queue',
    description: 'Connections that met a full accept queue.',
    label: 'Listen queue overflows and drops per second',
    format: perSecond,
    series: [
      { column: 'listenOverflows', label: 'overflows' },
      { column: 'listenDrops', label: 'drops' },
    ],
  },
];

/** Counters of the kernel and of the server, one chart a subject. */
export function HostPanels({ store, now, window }: View) {
  return PANELS.map(({ title, description, label, format, series, empty, bytes }) => (
    <Panel key={title} title={title} description={description}>
      <TimeChart
        label={label}
        series={series.map((one) => ({ label: one.label, points: store.points(one.column, now, window) }))}
        windowSeconds={window}
        format={format}
        height={150}
        empty={empty}
        bytes={bytes}
      />
    </Panel>
  ));
}
