// Where the time of each CPU goes: a chart each while they are few, one picture of all where they are many. A mean
// over CPUs would hide the one that is full.

import { NativeSelect } from '@mantine/core';
import { useMemo, useState } from 'react';
import type { CpuLayout } from '../api/generated';
import { TimeChart } from '../charts/TimeChart';
import { HeatScale, TimeHeatMap } from '../charts/TimeHeatMap';
import type { TimeView } from '../charts/timeView';
import { Panel } from '../components/Panel';
import { formatPercent } from '../maths/format';
import { CPU_STATES, cpuColumn } from '../samples/columns';

const percent = (value: number) => formatPercent(value / 100, 1);

/** More CPUs than this are one picture. */
const MOST_CHARTS = 8;

/** What can be shown of all CPUs: the states that add up to it. */
const SHOWN = {
  busy: ['user', 'system', 'irq', 'softirq'],
  ...Object.fromEntries(CPU_STATES.map((state) => [state, [state]])),
} as Record<string, (typeof CPU_STATES)[number][]>;

/** What a CPU is there for while a run goes on. */
function roleOf(cpu: number, layout: CpuLayout | undefined): string {
  const server = layout?.server.includes(cpu);
  const generator = layout?.generator.includes(cpu);
  if (server && generator) return 'Serves and generates load.';
  if (server) return 'Runs the server.';
  return generator ? 'Runs the load generator and the agent.' : '';
}

interface CpusProps {
  view: TimeView;
  layout: CpuLayout | undefined;
}

export function CpuPanels({ view, layout }: CpusProps) {
  const { cpus } = view.store;
  if (cpus.length > MOST_CHARTS) return <ManyCpus view={view} layout={layout} />;
  return cpus.map((cpu) => <CpuPanel key={cpu} cpu={cpu} view={view} role={roleOf(cpu, layout)} />);
}

/** All CPUs as the rows of one picture, and one of them as a chart when it is asked for. */
function ManyCpus({ view, layout }: CpusProps) {
  const [shown, setShown] = useState('busy');
  const [asked, setAsked] = useState('');
  const { cpus } = view.store;
  const rows = useMemo(
    () =>
      cpus.map((cpu) => ({
        name: `CPU ${cpu}`,
        columns: (SHOWN[shown] ?? []).map((state) => cpuColumn(cpu, state)),
      })),
    [cpus, shown],
  );
  const cpu = cpus.find((one) => String(one) === asked);
  return (
    <>
      <Panel
        title="CPUs"
        description="A row for each CPU, brighter the more of its time goes there."
        wide
        actions={
          <>
            <HeatScale from="0 %" to="100 %" />
            <NativeSelect
              size="xs"
              aria-label="State of the CPUs"
              value={shown}
              data={Object.keys(SHOWN)}
              onChange={(event) => setShown(event.currentTarget.value)}
            />
            <NativeSelect
              size="xs"
              aria-label="One CPU as a chart"
              value={asked}
              data={[
                { value: '', label: 'One CPU…' },
                ...cpus.map((one) => ({ value: String(one), label: `CPU ${one}` })),
              ]}
              onChange={(event) => setAsked(event.currentTarget.value)}
            />
          </>
        }
      >
        <TimeHeatMap
          label={`Share of time ${shown}, of ${cpus.length} CPUs`}
          view={view}
          rows={rows}
          max={100}
          format={percent}
        />
      </Panel>
      {cpu !== undefined && <CpuPanel cpu={cpu} view={view} role={roleOf(cpu, layout)} />}
    </>
  );
}

function CpuPanel({ cpu, view, role }: { cpu: number; view: TimeView; role: string }) {
  const series = useMemo(
    () => CPU_STATES.map((state) => ({ label: state, column: cpuColumn(cpu, state) })),
    [cpu],
  );
  return (
    <Panel title={`CPU ${cpu}`} description={`${role} Its time by state.`.trim()}>
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
