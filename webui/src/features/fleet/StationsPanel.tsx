// The stations: roles, what each does now, leases, health; and the ways to have one leave, and to forget it.

import { Button, Table } from '@mantine/core';
import type { StationView } from '../../api/generated';
import { useStationRequests } from '../../api/useFleet';
import { TextLink } from '../../components/links';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { ShareBar } from '../../components/ShareBar';
import { formatBytes, formatPercent, formatTime } from '../../maths/format';
import classes from './Fleet.module.css';
import { healthOf, STATE_WORDS, toneOf } from './words';

const HEADINGS = ['Station', 'Role', 'State', 'Does now', 'Last hour', 'Lease until', 'Health', 'Leaving'];

export function StationsPanel({ stations }: { stations: readonly StationView[] }) {
  return (
    <Panel
      title="Stations"
      description="A lease is the right to carry out one trial. Last hour: the share in which the station carried something out."
    >
      {stations.length === 0 ? (
        <Message title="No station has joined yet.">
          On this machine: <code>trimtab fleet serve</code>, and <code>trimtab fleet invite HOST</code> for
          each host. On the host: <code>trimtab station join tls://THIS_MACHINE --role server</code>.
        </Message>
      ) : (
        <ScrollTable label="Stations of the fleet">
          <Table.Thead>
            <Table.Tr>
              {HEADINGS.map((heading) => (
                <Table.Th key={heading}>{heading}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {stations.map((station) => (
              <StationRow key={station.name} station={station} />
            ))}
          </Table.Tbody>
        </ScrollTable>
      )}
    </Panel>
  );
}

function StationRow({ station }: { station: StationView }) {
  const { name, role, state, doing, run_id, trial, busy, booked_until } = station;
  const requests = useStationRequests(name);
  return (
    <Table.Tr>
      <Table.Td>{name}</Table.Td>
      <Table.Td>{role}</Table.Td>
      <Table.Td>
        <span className={classes.mark} data-tone={toneOf(station)}>
          {STATE_WORDS[state] ?? state}
        </span>
      </Table.Td>
      <Table.Td>
        {run_id === null ? (
          doing || 'nothing'
        ) : (
          <TextLink to="/runs/$id" params={{ id: run_id }} fz="sm">
            trial {trial} of run {run_id}
          </TextLink>
        )}
      </Table.Td>
      <Table.Td>
        {busy === null ? (
          '–'
        ) : (
          <span className={classes.share}>
            <ShareBar share={busy} /> {formatPercent(busy)}
          </span>
        )}
      </Table.Td>
      <Table.Td>{booked_until === null ? '–' : formatTime(booked_until)}</Table.Td>
      <Table.Td>{healthOf(station, formatBytes)}</Table.Td>
      <Table.Td>
        {requests.error && <span className={classes.error}>{requests.error.message}</span>}
        {state === 'left' || state === 'absent' ? (
          <Button
            size="compact-sm"
            variant="default"
            disabled={requests.isPending}
            aria-label={`Forget ${name}`}
            onClick={requests.forget}
          >
            Forget
          </Button>
        ) : (
          <Button
            size="compact-sm"
            variant="default"
            disabled={requests.isPending || state === 'draining'}
            aria-label={`Drain ${name}`}
            onClick={requests.drain}
          >
            Drain
          </Button>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
