// What host and server counted while one rate was driven: each CPU, each worker, and every counter by name.

import { Table } from '@mantine/core';
import type { CounterValues, Measurement } from '../../api/generated';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { ShareBar } from '../../components/ShareBar';
import { WorkersTable } from '../../counters/WorkersTable';
import { formatPercent } from '../../maths/format';
import type { Rungs } from '../../maths/rungs';
import { flatCounters } from './flatCounters';
import classes from './Trial.module.css';

const STATES = ['user', 'nice', 'system', 'irq', 'softirq', 'iowait', 'steal', 'idle'] as const;

export function RatePanels({ measurement, rungs }: { measurement: Measurement; rungs: Rungs }) {
  const counters = measurement.counters as Partial<CounterValues>;
  const workers = counters.server_workers?.workers ?? [];
  const rate = rungs.format(measurement.rate_rps);
  return (
    <>
      <div className={classes.columns}>
        <Panel title="CPUs" description={`Mean over the measurement at ${rate}, in percent of each CPU.`}>
          <ScrollTable label="Use of each CPU">
            <Table.Thead>
              <Table.Tr>
                <Table.Th ta="right">CPU</Table.Th>
                <Table.Th>Busy</Table.Th>
                {STATES.map((state) => (
                  <Table.Th key={state} ta="right">
                    {state}
                  </Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {counters.cpu?.cpus.map((cpu) => (
                <Table.Tr key={cpu.cpu}>
                  <Table.Td ta="right">{cpu.cpu}</Table.Td>
                  <Table.Td>
                    <ShareBar share={1 - (cpu.idle ?? 0) / 100} />
                  </Table.Td>
                  {STATES.map((state) => (
                    <Table.Td key={state} ta="right">
                      {formatPercent(cpu[state] == null ? null : cpu[state] / 100, 1)}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </ScrollTable>
        </Panel>
        <Panel title="Workers of the server" description={`Mean over the measurement at ${rate}.`}>
          {workers.length === 0 ? (
            <p className={classes.caption}>This target does not tell what each of its workers does.</p>
          ) : (
            <WorkersTable workers={workers} />
          )}
        </Panel>
      </div>
      <Panel title="All counters" description={`Of the measurement at ${rate}.`}>
        <details className={classes.details}>
          <summary>Every counter of generator, server and host by name</summary>
          <div className={classes.lists}>
            <Counters title="Load generator" of={measurement.health} />
            <Counters title="Server, in all" of={measurement.server_stats} />
            {Object.entries(counters)
              .filter(([name]) => !['time', 'interval_s', 'missing', 'server_workers', 'cpu'].includes(name))
              .map(([name, values]) => (
                <Counters key={name} title={name} of={values} />
              ))}
          </div>
        </details>
      </Panel>
    </>
  );
}

function Counters({ title, of }: { title: string; of: unknown }) {
  const rows = flatCounters(of);
  if (rows.length === 0) return null;
  return (
    <div>
      <h3>{title}</h3>
      <dl className={classes.pairs}>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
