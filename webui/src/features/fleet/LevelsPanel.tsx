// How hosts differ: what the default did on each in the newest run on several, beside the mean host, and whether
// that has moved since the run before.

import { Table } from '@mantine/core';
import type { StationView } from '../../api/generated';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { ShareBar } from '../../components/ShareBar';
import { formatGain } from '../../maths/format';
import classes from './Fleet.module.css';
import { driftOf, levelsOf } from './words';

export function LevelsPanel({ stations }: { stations: readonly StationView[] }) {
  const rows = levelsOf(stations);
  const highest = Math.max(...rows.map(({ level }) => level));
  return (
    <Panel
      title="Differences between hosts"
      description="What the default configuration did on each host in the newest run on several, beside the mean of them; and how far that has moved since the run before of the same server and workload."
    >
      <ScrollTable label="Levels of the hosts">
        <Table.Thead>
          <Table.Tr>
            {['Host', 'Beside the mean', 'Moved since the run before'].map((heading) => (
              <Table.Th key={heading}>{heading}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ name, level, level_before }) => (
            <Table.Tr key={name}>
              <Table.Td>{name}</Table.Td>
              <Table.Td>
                <span className={classes.share}>
                  <ShareBar share={level / highest} /> {formatGain(level - 1)}
                </span>
              </Table.Td>
              <Table.Td>{formatGain(driftOf(level, level_before))}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </ScrollTable>
    </Panel>
  );
}
