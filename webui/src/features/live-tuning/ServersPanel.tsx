// The web servers that run here: what their files set, what can be changed, and what stands in the way.

import { Table } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { LiveServer } from '../../api/generated';
import { getSpaceOptions } from '../../api/generated/@tanstack/react-query.gen';
import { Loadable } from '../../components/Loadable';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import classes from './LiveTuning.module.css';
import { useServers } from './useSession';
import { serverTitle } from './words';

export function ServersPanel() {
  const servers = useServers();
  return (
    <Panel title="Servers that run here" description="Nothing of them is touched to find them.">
      <Loadable query={servers} what="The servers" height={120}>
        {(rows) =>
          rows.length === 0 ? (
            <Message title="No web server that Trimtab knows runs here, or none that its user may see." />
          ) : (
            <ul className={classes.servers}>
              {rows.map((server) => (
                <Server key={server.pid} server={server} />
              ))}
            </ul>
          )
        }
      </Loadable>
    </Panel>
  );
}

function Server({ server }: { server: LiveServer }) {
  const [open, setOpen] = useState(false);
  return (
    <li className={classes.server}>
      <h3>{serverTitle(server)}</h3>
      <p className={classes.dimmed}>
        {server.file ?? 'Its configuration file is not known.'} ·{' '}
        {server.processes === 1 ? '1 process' : `${server.processes} processes`} of {server.user}
      </p>
      {server.obstacles.length > 0 ? (
        <Message
          tone="warn"
          title="Its connections cannot be shared, so it can only be observed, or try by reloads."
        >
          {server.obstacles.join(' ')}
        </Message>
      ) : (
        <p>A share of its connections can go to another server.</p>
      )}
      {server.no_reload !== null && (
        <Message tone="warn" title="Nothing can be promoted to it, so it can only be observed.">
          {server.no_reload}
        </Message>
      )}
      {server.trouble && <Message tone="warn" title={server.trouble} />}
      <details className={classes.details} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>What can be changed</summary>
        {open && <Knobs server={server} />}
      </details>
    </li>
  );
}

function Knobs({ server }: { server: LiveServer }) {
  const space = useQuery(getSpaceOptions({ path: { name: server.target } }));
  return (
    <Loadable query={space} what="The knobs" height={120}>
      {({ knobs }) => (
        <ScrollTable label={`Knobs of ${serverTitle(server)}`}>
          <Table.Thead>
            <Table.Tr>
              {['Knob', 'Its file', 'Otherwise', 'What it is'].map((heading) => (
                <Table.Th key={heading}>{heading}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {knobs.map((knob) => (
              <Table.Tr key={knob.name}>
                <Table.Td>
                  <code>{knob.name}</code>
                </Table.Td>
                <Table.Td>{server.values[knob.name] ?? '–'}</Table.Td>
                <Table.Td>{knob.default}</Table.Td>
                <Table.Td className={classes.wrapped}>{knob.help}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </ScrollTable>
      )}
    </Loadable>
  );
}
