// What several hosts say of what is recommended: the gain on each, on a new one, and who behaves unlike the others.

import { Table } from '@mantine/core';
import type { OverHosts } from '../../api/generated';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { formatGain } from '../../maths/format';

export function HostsPanel({ overHosts }: { overHosts: OverHosts }) {
  const { hosts, classes, across, sentence, unseen } = overHosts;
  const several = Object.keys(classes).length > 1;
  return (
    <Panel
      title="On several hosts"
      description={sentence || 'No host has measured anything better than the default.'}
    >
      {across?.expected_low != null && (
        <p>
          On a new host of the same kind expect{' '}
          <strong>
            {formatGain(across.expected_low)} to {formatGain(across.expected_high)}
          </strong>
          {unseen ? ', as found on hosts that the search had not used.' : '.'}
        </p>
      )}
      <ScrollTable label="The hosts of this run">
        <Table.Thead>
          <Table.Tr>
            {['Host', ...(several ? ['Class'] : []), 'Part', 'Level beside the mean', 'Gain'].map(
              (heading) => (
                <Table.Th key={heading}>{heading}</Table.Th>
              ),
            )}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {hosts.map((host) => (
            <Table.Tr key={host.name}>
              <Table.Td>{host.name}</Table.Td>
              {several && <Table.Td title={classes[host.stratum]}>{host.stratum}</Table.Td>}
              <Table.Td>{host.searched ? 'search' : 'confirmation only'}</Table.Td>
              <Table.Td>{host.level === null ? '–' : formatGain(host.level - 1)}</Table.Td>
              <Table.Td>
                {formatGain(host.gain)}
                {host.unlike && ' (unlike the others)'}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </ScrollTable>
      {several && (
        <Message title="The hosts are of several classes.">
          {Object.entries(classes)
            .map(([number, words]) => `Class ${number}: ${words}.`)
            .join(' ')}
        </Message>
      )}
    </Panel>
  );
}
