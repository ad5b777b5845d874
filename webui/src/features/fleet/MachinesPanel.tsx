// What the stations' machines are: hosts that differ here are classes of their own in a run.

import { Table } from '@mantine/core';
import type { StationView } from '../../api/generated';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { formatBytes } from '../../maths/format';
import classes from './Fleet.module.css';
import { cardsOf, serversOf } from './words';

const HEADINGS = ['Station', 'CPUs', 'Kernel', 'Memory', 'Network', 'Servers', 'Trimtab'];

export function MachinesPanel({ stations }: { stations: readonly StationView[] }) {
  return (
    <Panel
      title="Machines"
      description="Hosts with the same processor, kernel, network cards and server version are one class: what holds for one should hold for the others."
    >
      <ScrollTable label="Machines of the fleet">
        <Table.Thead>
          <Table.Tr>
            {HEADINGS.map((heading) => (
              <Table.Th key={heading}>{heading}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {stations.map((station) => (
            <Table.Tr key={station.name}>
              <Table.Td>{station.name}</Table.Td>
              <Table.Td className={classes.wrapped}>
                {station.cpus} × {station.cpu_model}
              </Table.Td>
              <Table.Td>{station.kernel}</Table.Td>
              <Table.Td>{formatBytes(station.memory_bytes)}</Table.Td>
              <Table.Td className={classes.wrapped}>{cardsOf(station) || '–'}</Table.Td>
              <Table.Td className={classes.wrapped}>{serversOf(station) || '–'}</Table.Td>
              <Table.Td>
                {station.trimtab}, protocol {station.protocol}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </ScrollTable>
    </Panel>
  );
}
