import type { CpuLayout } from '../api/generated';
import { TimeChart } from '../charts/TimeChart';
import { Panel } from '../components/Panel';
import { CPU_STATES, cpuColumn } from '../live/columns';
import { formatNumber } from '../maths/format';
import type { View } from './view';

const percent = (value: number) => `${formatNumber(value, 2)} %`;

/** What a CPU is there for while a run goes on. */
function roleOf(cpu: number, layout: CpuLayout | undefined): string {
  const server = layout?.server.includes(cpu);
  const generator = layout?.generator.includes(cpu);
  if (server && generator) return 'Serves and generates load.';
  if (server) return 'Runs the server.';
  return generator ? 'Runs the load generator and the agent.' : '';
}

/** One chart per CPU: where its time goes. A mean over CPUs would hide the one that is full. */
export function CpuPanels({
  store,
  now,
  window,
  marks,
  formatTime,
  layout,
}: View & { layout: CpuLayout | undefined }) {
  return store.cpus.map((cpu) => (
    <Panel key={cpu} title={`CPU ${cpu}`} description={roleOf(cpu, layout)}>
      <TimeChart
        label={`Use of CPU ${cpu} by state, in percent`}
        series={CPU_STATES.map((state) => ({
          label: state,
          points: store.points(cpuColumn(cpu, state), now, window),
        }))}
        windowSeconds={window}
        marks={marks}
        formatTime={formatTime}
        format={percent}
        stacked
        max={100}
      />
    </Panel>
  ));
}
