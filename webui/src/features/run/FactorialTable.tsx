// What the server's knobs gain alone, the kernel's alone, and both together.

import { Table } from '@mantine/core';
import type { Factorial } from '../../api/generated';
import { GainText } from '../../components/GainText';

const FAMILIES = [
  ['server', 'Server alone'],
  ['kernel', 'Kernel alone'],
  ['both', 'Both'],
] as const;

export function FactorialTable({ of }: { of: Factorial }) {
  return (
    <Table.ScrollContainer minWidth={420} type="native" mt="md">
      <Table fz="sm" verticalSpacing={5} aria-label="Gains of server and kernel">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Knobs changed</Table.Th>
            <Table.Th ta="right">More load than the default</Table.Th>
            <Table.Th ta="right">Gain in score</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {FAMILIES.map(([family, name]) => (
            <Table.Tr key={family}>
              <Table.Th scope="row">{name}</Table.Th>
              <Table.Td ta="right">
                <GainText gain={of[family].capacity_gain} atLeast={of[family].at_least} />
              </Table.Td>
              <Table.Td ta="right">
                <GainText gain={of[family].gain} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
