// What the traffic is like now, and the kinds of traffic that are known.

import { Table } from '@mantine/core';
import type { LiveSessionDetail } from '../../api/generated';
import { Figure, FigureList } from '../../components/Figure';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { formatCount } from '../../maths/format';
import { knownTraffic } from './incumbents';
import classes from './LiveTuning.module.css';
import { trafficOf } from './words';

export function TrafficPanel({ session }: { session: LiveSessionDetail }) {
  const now = trafficOf(session.context);
  const known = knownTraffic(session.incumbents);
  return (
    <Panel title="Traffic" description="Each kind of traffic has the configuration that is best for it.">
      {now.length === 0 ? (
        <Message title="What the traffic is like is not known yet." />
      ) : (
        <FigureList>
          {now.map(([label, value]) => (
            <Figure key={label} label={label} value={value} />
          ))}
        </FigureList>
      )}
      {known.length > 0 && (
        <>
          <h3 className={classes.heading}>Known kinds</h3>
          <ScrollTable label="Known kinds of traffic">
            <Table.Thead>
              <Table.Tr>
                {['Traffic', 'Tried', 'Promoted'].map((heading) => (
                  <Table.Th key={heading}>{heading}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {known.map(({ context, tried, promoted }) => {
                const words = trafficOf(context).map(([label, value]) => `${label.toLowerCase()} ${value}`);
                return (
                  <Table.Tr key={words.join()}>
                    <Table.Td>{words.join(', ')}</Table.Td>
                    <Table.Td>{formatCount(tried)}</Table.Td>
                    <Table.Td>{formatCount(promoted)}</Table.Td>
                  </Table.Tr>
                );
              })}
            </Table.Tbody>
          </ScrollTable>
        </>
      )}
    </Panel>
  );
}
