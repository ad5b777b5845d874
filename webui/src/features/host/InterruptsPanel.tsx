// Which CPU serves which interrupt: counts as a table whose cells are shaded by their share of the row.

import { Switch, Table } from '@mantine/core';
import { useState } from 'react';
import type { Interrupt, Topology } from '../../api/generated';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { cssColour, sequentialColour, textColourOn } from '../../maths/colourScale';
import { formatMany } from '../../maths/format';
import { cpuRanges } from './cpus';

const total = ({ counts }: Interrupt) => Object.values(counts).reduce((sum, count) => sum + count, 0);

export function InterruptsPanel({ topology }: { topology: Topology }) {
  const [all, setAll] = useState(false);
  const rows = topology.interrupts
    .filter((interrupt) => all || total(interrupt) > 0)
    .toSorted((a, b) => total(b) - total(a));
  return (
    <Panel
      title="Interrupts by CPU"
      description="Counts since the host started, counted again every five seconds. Shaded by the share of the row."
      actions={
        <Switch
          size="sm"
          label="Also those that never came"
          checked={all}
          onChange={(event) => setAll(event.currentTarget.checked)}
        />
      }
    >
      <ScrollTable label="Interrupts by CPU">
        <Table.Thead>
          <Table.Tr>
            <Table.Th ta="right">IRQ</Table.Th>
            <Table.Th>Name</Table.Th>
            <Table.Th>Device</Table.Th>
            <Table.Th>May use CPU</Table.Th>
            <Table.Th>Uses CPU</Table.Th>
            {topology.cpus.map(({ cpu }) => (
              <Table.Th key={cpu} ta="right">
                CPU {cpu}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((interrupt) => (
            <Table.Tr key={interrupt.irq}>
              <Table.Td ta="right">{interrupt.irq}</Table.Td>
              <Table.Td>{interrupt.name}</Table.Td>
              <Table.Td>{interrupt.device ?? '–'}</Table.Td>
              <Table.Td>{interrupt.cpus ? cpuRanges(interrupt.cpus) : '–'}</Table.Td>
              <Table.Td>{interrupt.effective_cpus ? cpuRanges(interrupt.effective_cpus) : '–'}</Table.Td>
              {topology.cpus.map(({ cpu }) => (
                <Count key={cpu} count={interrupt.counts[cpu] ?? 0} of={total(interrupt)} />
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </ScrollTable>
    </Panel>
  );
}

function Count({ count, of }: { count: number; of: number }) {
  if (count === 0) return <Table.Td ta="right">0</Table.Td>;
  const colour = sequentialColour(count / of);
  return (
    <Table.Td ta="right" style={{ background: cssColour(colour), color: textColourOn(colour) }}>
      {formatMany(count)}
    </Table.Td>
  );
}
