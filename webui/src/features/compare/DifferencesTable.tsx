import { Table } from '@mantine/core';
import type { ComparedRun } from '../../api/generated';
import { Message } from '../../components/Message';
import { ScrollTable } from '../../components/ScrollTable';
import classes from './Compare.module.css';
import { differenceRows } from './differences';

/** What is set differently in the runs, or with `all` everything that is set: a row for each property. */
export function DifferencesTable({ runs, all }: { runs: readonly ComparedRun[]; all: boolean }) {
  const rows = differenceRows(runs, all);
  if (rows.length === 0) return <Message title="Nothing: these runs are alike in everything that is set." />;
  return (
    <ScrollTable label="What sets the runs apart">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>
            <span className="visually-hidden">Property</span>
          </Table.Th>
          {runs.map(({ id }) => (
            <Table.Th key={id}>Run {id}</Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map(({ name, knob, texts }) => (
          <Table.Tr key={`${knob} ${name}`}>
            <Table.Th scope="row">{knob ? <code>{name}</code> : name}</Table.Th>
            {runs.map(({ id }, index) => (
              <Table.Td key={id} className={classes.long}>
                {texts[index]}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ScrollTable>
  );
}
