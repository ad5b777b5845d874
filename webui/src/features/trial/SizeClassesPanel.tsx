// Timeouts for each file size against the thresholds: a server may not serve small files at the cost of large ones.

import { Table } from '@mantine/core';
import type { Measurement, TrialDetail } from '../../api/generated';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { ShareBar } from '../../components/ShareBar';
import { formatBytes, formatCount, formatPercent } from '../../maths/format';
import type { Rungs } from '../../maths/rungs';
import { type SizeClassRow, sizeClassRows } from './sizeClasses';
import classes from './Trial.module.css';

interface SizeClassesPanelProps {
  rungs: Rungs;
  trial: TrialDetail;
  measurement: Measurement;
}

export function SizeClassesPanel({ rungs, trial, measurement }: SizeClassesPanelProps) {
  const { rows, all, limit, allLimit } = sizeClassRows(trial, measurement);
  const told = rows.filter((row) => !isQuiet(row));
  const quiet = rows.filter(isQuiet);
  return (
    <Panel
      title="Timeouts by file size"
      description={`At ${rungs.format(measurement.rate_rps)}: of the requests the server had read. The mark is the limit for each size, ${formatPercent(limit, 1)}.`}
    >
      {told.length === 0 ? (
        <p className={classes.caption}>No request of any size timed out or failed.</p>
      ) : (
        <SizesTable label="Timeouts by file size" rows={told} limit={limit} />
      )}
      {quiet.length > 0 && (
        <details className={classes.details}>
          <summary>
            {`${quiet.length} ${quiet.length === 1 ? 'size' : 'sizes'} of which nothing timed out or failed`}
          </summary>
          <SizesTable label="File sizes without timeouts" rows={quiet} limit={limit} />
        </details>
      )}
      <p className={classes.caption}>
        Asked is the sum of the five columns after it. A request is never sent where its session had ended
        before it. All sizes together: {formatPercent(all, 2)} timed out after they were read; the limit is{' '}
        {formatPercent(allLimit, 0)}. With few requests of a size a rule counts as broken only when chance
        would rarely cause so many timeouts.
      </p>
    </Panel>
  );
}

/** Whether nothing of this size timed out or failed, at any point, and no rule about it is broken. */
const isQuiet = ({ counts, broken }: SizeClassRow): boolean =>
  broken.length === 0 && counts.timed_out_before_read + counts.timed_out_after_read + counts.failed === 0;

interface SizesTableProps {
  label: string;
  rows: readonly SizeClassRow[];
  limit: number;
}

function SizesTable({ label, rows, limit }: SizesTableProps) {
  const scale = Math.max(2 * limit, ...rows.map(({ share }) => share));
  return (
    <ScrollTable label={label}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th ta="right">File size</Table.Th>
          <Table.Th ta="right">Asked</Table.Th>
          <Table.Th ta="right">Replied</Table.Th>
          <Table.Th ta="right">Before read</Table.Th>
          <Table.Th ta="right">After read</Table.Th>
          <Table.Th ta="right">Failed</Table.Th>
          <Table.Th ta="right">Never sent</Table.Th>
          <Table.Th>Share timed out</Table.Th>
          <Table.Th>Rules</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map(({ counts, share, broken }) => (
          <Table.Tr key={counts.size_bytes}>
            <Table.Td ta="right">{formatBytes(counts.size_bytes)}</Table.Td>
            <Table.Td ta="right">{formatCount(counts.asked)}</Table.Td>
            <Table.Td ta="right">{formatCount(counts.replied)}</Table.Td>
            <Table.Td ta="right">{formatCount(counts.timed_out_before_read)}</Table.Td>
            <Table.Td ta="right">{formatCount(counts.timed_out_after_read)}</Table.Td>
            <Table.Td ta="right">{formatCount(counts.failed)}</Table.Td>
            <Table.Td ta="right">{formatCount(counts.abandoned)}</Table.Td>
            <Table.Td>
              <span className={broken.length > 0 ? classes.violated : undefined}>
                {formatPercent(share, 2)}
              </span>
              <ShareBar share={share / scale} limit={limit / scale} bad={broken.length > 0} />
            </Table.Td>
            <Table.Td>
              {broken.length === 0 ? (
                'hold'
              ) : (
                <span className={classes.violated}>broken: {broken.join(', ')}</span>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ScrollTable>
  );
}
