import { useMemo } from 'react';
import type { CpuLayout } from '../api/generated';
import { TimeChart } from '../charts/TimeChart';
import { Panel } from '../components/Panel';
import { CPU_STATES, cpuColumn } from '../live/columns';
import { formatPercent } from '../maths/format';
import type { View } from './view';

const percent = (value: number) => formatPercent(value / 100, 1);

/** What a CPU is there for while a run goes on. */
function roleOf(cpu: number, layout: CpuLayout | undefined): string {
  const server = layout?.server.includes(cpu);
  const generator = layout?.generator.includes(cpu);
  if (server && generator) return 'Serves and generates load.';
  if (server) return 'Runs the server.';
  return generator ? 'Runs the load generator and the agent.' : '';
}

/** One chart per CPU: where its time goes. A mean over CPUs would hide the one that is full. */
export function CpuPanels({ view, layout }: { view: View; layout: CpuLayout | undefined }) {
  return view.store.cpus.map((cpu) => (
    <CpuPanel key={cpu} cpu={cpu} view={view} role={roleOf(cpu, layout)} />
  ));
}

function CpuPanel({ cpu, view, role }: { cpu: number; view: View; role: string }) {
  const series = useMemo(
    () => CPU_STATES.map((state) => ({ label: state, column: cpuColumn(cpu, state) })),
    [cpu],
  );
  return (
    <Panel title={`CPU ${cpu}`} description={role}>
      <TimeChart
        label={`Use of CPU ${cpu} by state, in percent`}
        view={view}
        series={series}
        format={percent}
        stacked
        max={100}
      />
    </Panel>
  );
}
