// The workers of a server as rows, with a bar that shows how evenly they share the requests.

import { Table } from '@mantine/core';
import type { WorkerCounters } from '../api/generated';
import { ScrollTable } from '../components/ScrollTable';
import { ShareBar } from '../components/ShareBar';
import { formatBytes, formatCount, formatPercent, formatPerSecond } from '../maths/format';

export function WorkersTable({ workers }: { workers: readonly WorkerCounters[] }) {
  const most = Math.max(...workers.map((worker) => worker.requests_per_s ?? 0));
  return (
    <ScrollTable label="Workers">
      <Table.Thead>
        <Table.Tr>
          <Table.Th ta="right">Worker</Table.Th>
          <Table.Th ta="right">Process</Table.Th>
          <Table.Th ta="right">Open connections</Table.Th>
          <Table.Th ta="right">Accepts</Table.Th>
          <Table.Th ta="right">Requests</Table.Th>
          <Table.Th>Share</Table.Th>
          <Table.Th ta="right">Sent</Table.Th>
          <Table.Th ta="right">CPU</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {workers.map((worker) => (
          <Table.Tr key={worker.worker}>
            <Table.Td ta="right">{worker.worker}</Table.Td>
            <Table.Td ta="right">{worker.pid}</Table.Td>
            <Table.Td ta="right">{formatCount(worker.connections_open)}</Table.Td>
            <Table.Td ta="right">{formatPerSecond(worker.connections_accepted_per_s)}</Table.Td>
            <Table.Td ta="right">{formatPerSecond(worker.requests_per_s)}</Table.Td>
            <Table.Td>
              <ShareBar share={(worker.requests_per_s ?? 0) / (most || 1)} />
            </Table.Td>
            <Table.Td ta="right">
              {worker.bytes_sent_per_s == null ? '–' : `${formatBytes(worker.bytes_sent_per_s)}/s`}
            </Table.Td>
            <Table.Td ta="right">{formatPercent(worker.cpu == null ? null : worker.cpu / 100, 1)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ScrollTable>
  );
}
