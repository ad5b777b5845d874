import { Table } from '@mantine/core';
import type { Cache, Cpu, CpuLayout, NetworkDevice, Topology } from '../../api/generated';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { formatBytes, formatMbps } from '../../maths/format';
import { cpuRanges, groupBy } from './cpus';
import classes from './Host.module.css';

/** Sockets as boxes that hold their cores, which hold their CPUs; caches by the CPUs that share them. */
export function TopologyPanel({ topology, layout }: { topology: Topology; layout: CpuLayout | undefined }) {
  const sockets = groupBy(topology.cpus, ({ socket }) => socket);
  return (
    <Panel title="Topology" description="What shares a box shares a socket or a core.">
      <ul className={classes.sockets} aria-label="Sockets">
        {sockets.map(([socket, cpus]) => (
          <li key={socket} className={classes.socket}>
            <h3>
              Socket {socket}
              <span className={classes.dimmed}>
                {sharedCaches(topology.caches, cpus)}, node{' '}
                {[...new Set(cpus.map(({ node }) => node))].join(', ')}
              </span>
            </h3>
            <ul className={classes.cores} aria-label={`Cores of socket ${socket}`}>
              {groupBy(cpus, ({ core }) => core).map(([core, own]) => (
                <li key={core} className={classes.core}>
                  <span className={classes.dimmed}>core {core}</span>
                  {own.map(({ cpu }) => (
                    <span key={cpu} className={classes.cpu} data-role={roleOf(cpu, layout)}>
                      CPU {cpu}
                      <small>{roleOf(cpu, layout) ?? ''}</small>
                    </span>
                  ))}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
      <h3 className={classes.heading}>Network devices</h3>
      <ScrollTable label="Network devices">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Device</Table.Th>
            <Table.Th>Driver</Table.Th>
            <Table.Th ta="right">Speed</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Receive queues</Table.Th>
            <Table.Th>Send queues</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {topology.devices.map((device) => (
            <Table.Tr key={device.name}>
              <Table.Td>{device.name}</Table.Td>
              <Table.Td>{device.driver ?? '–'}</Table.Td>
              <Table.Td ta="right">{formatMbps(device.speed_mbps)}</Table.Td>
              <Table.Td>{device.up ? 'up' : 'down'}</Table.Td>
              <Table.Td>{queues(device, 'rx')}</Table.Td>
              <Table.Td>{queues(device, 'tx')}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </ScrollTable>
    </Panel>
  );
}

function roleOf(cpu: number, layout: CpuLayout | undefined): string | undefined {
  const server = layout?.server.includes(cpu);
  const generator = layout?.generator.includes(cpu);
  return server && generator ? 'server, load' : server ? 'server' : generator ? 'load' : undefined;
}

/** The caches that more than one CPU of the socket shares, or the largest there is. */
function sharedCaches(caches: readonly Cache[], cpus: readonly Cpu[]): string {
  const own = new Set(cpus.map(({ cpu }) => cpu));
  const here = caches.filter((cache) => cache.cpus.some((cpu) => own.has(cpu)));
  const last = Math.max(...here.map(({ level }) => level));
  const largest = here.filter(({ level }) => level === last);
  return largest.length === 0
    ? 'caches unknown'
    : `${largest.length > 1 ? `${largest.length} × ` : ''}${formatBytes(largest[0]?.size_bytes)} L${last}`;
}

function queues({ queues: all }: NetworkDevice, direction: string): string {
  const own = all.filter((queue) => queue.direction === direction);
  if (own.length === 0) return '–';
  return own
    .map(({ index, irq, steering_cpus }) => {
      const steered = steering_cpus && steering_cpus.length > 0;
      return [
        `queue ${index}`,
        ...(irq === null ? [] : [`IRQ ${irq}`]),
        ...(steered ? [`steered to CPU ${cpuRanges(steering_cpus)}`] : []),
      ].join(', ');
    })
    .join('; ');
}
