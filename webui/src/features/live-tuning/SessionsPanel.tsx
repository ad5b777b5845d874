// The sessions of this machine, the latest first.

import { Table } from '@mantine/core';
import type { LiveSessionReply } from '../../api/generated';
import { Loadable } from '../../components/Loadable';
import { TextLink } from '../../components/links';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { formatPercent, formatTime } from '../../maths/format';
import { StateMark } from './StateMark';
import { useSessions } from './useSession';

export function SessionsPanel() {
  const sessions = useSessions();
  return (
    <Panel title="Sessions">
      <Loadable query={sessions} what="The sessions" height={80}>
        {(rows) =>
          rows.length === 0 ? (
            <Message title="Live tuning is attached to no server." />
          ) : (
            <SessionsTable rows={rows} />
          )
        }
      </Loadable>
    </Panel>
  );
}

function SessionsTable({ rows }: { rows: readonly LiveSessionReply[] }) {
  return (
    <ScrollTable label="Live sessions">
      <Table.Thead>
        <Table.Tr>
          {['Session', 'Server', 'Listens on', 'Mode', 'State', 'Canary', 'Began'].map((heading) => (
            <Table.Th key={heading}>{heading}</Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map((session) => (
          <Table.Tr key={session.id}>
            <Table.Td>
              <TextLink to="/live-tuning/$id" params={{ id: session.id }} fz="sm">
                Session {session.id}
              </TextLink>
            </Table.Td>
            <Table.Td>{session.unit || session.target}</Table.Td>
            <Table.Td>{session.addresses.join(', ')}</Table.Td>
            <Table.Td>{session.mode}</Table.Td>
            <Table.Td>
              <StateMark session={session} />
            </Table.Td>
            <Table.Td>{formatPercent(session.share)}</Table.Td>
            <Table.Td>{formatTime(session.started_at)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ScrollTable>
  );
}
