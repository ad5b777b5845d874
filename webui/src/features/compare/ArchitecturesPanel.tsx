import { Table } from '@mantine/core';
import type { RunComparison } from '../../api/generated';
import { BarChart } from '../../charts/BarChart';
import { TextLink } from '../../components/links';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { formatMbps } from '../../maths/format';
import { barsOf } from './architectureBars';
import classes from './Compare.module.css';

/** The best of each architecture under each workload, as bars; peak goodput compares whatever the ladder. */
export function ArchitecturesPanel({ comparison }: { comparison: RunComparison }) {
  const { architectures } = comparison;
  const workloads = [...new Set(architectures.map(({ workload }) => workload))];
  return (
    <Panel
      title="Best of each architecture"
      description="The best verified trial of each architecture in each run, by workload. One trial each: differences of a few percent may be chance."
    >
      {architectures.length === 0 ? (
        <Message title="None of these runs has a verified trial." />
      ) : (
        <>
          <div className={classes.bars}>
            {barsOf(comparison).map(({ title, bars, max }) => (
              <div key={title}>
                <h3 className={classes.workload}>{title}</h3>
                <BarChart
                  label={`Peak goodput under ${title}`}
                  nameOf="Architecture"
                  bars={bars}
                  max={max}
                  format={formatMbps}
                />
              </div>
            ))}
          </div>
          <ScrollTable label="Best of each architecture by workload">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Workload</Table.Th>
                <Table.Th>Architecture</Table.Th>
                <Table.Th>Run and trial</Table.Th>
                <Table.Th ta="right">Peak goodput</Table.Th>
                <Table.Th ta="right">Score</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {workloads.flatMap((workload) =>
                architectures
                  .filter((best) => best.workload === workload)
                  .toSorted((a, b) => b.peak_mbps - a.peak_mbps)
                  .map((best) => (
                    <Table.Tr key={`${best.run_id} ${best.architecture}`}>
                      <Table.Td>{workload}</Table.Td>
                      <Table.Td>{best.architecture}</Table.Td>
                      <Table.Td>
                        <TextLink
                          to="/runs/$id/trials/$number"
                          params={{ id: best.run_id, number: best.trial }}
                          size="sm"
                        >
                          Run {best.run_id}, trial {best.trial}
                        </TextLink>
                      </Table.Td>
                      <Table.Td ta="right">{formatMbps(best.peak_mbps)}</Table.Td>
                      <Table.Td ta="right">{formatMbps(best.score_mbps)}</Table.Td>
                    </Table.Tr>
                  )),
              )}
            </Table.Tbody>
          </ScrollTable>
        </>
      )}
    </Panel>
  );
}
