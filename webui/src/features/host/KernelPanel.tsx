// The knobs of the kernel: which of them a run can tune on this machine, what they are set to, and what it lacks.

import { Table } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Knob, KnobHere } from '../../api/generated';
import { getKernelOptions } from '../../api/generated/@tanstack/react-query.gen';
import { FoldingTable } from '../../components/FoldingTable';
import { Loadable } from '../../components/Loadable';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { formatCount } from '../../maths/format';
import classes from './Host.module.css';

const TUNED: Record<KnobHere['needs'], string> = {
  nothing: 'with the kernel',
  'longer-accept-queue': 'where the server asks for a longer queue or for none',
  'device-that-polls': 'with the kernel',
  'memory-limit': 'where memory is limited or caches begin cold',
  'to-be-named': 'where you free it',
};

/** What a knob may be set to, in words. */
const allowed = ({ kind, low, high, choices }: Knob) =>
  kind === 'integer' ? `${formatCount(low)} to ${formatCount(high)}` : (choices ?? []).join(', ');

export function KernelPanel() {
  const kernel = useQuery(getKernelOptions());
  return (
    <Panel
      title="Kernel"
      description="What a run can tune beside the server. It sets a knob for one trial, and puts it back afterwards."
    >
      <Loadable query={kernel} what="The knobs of the kernel" height={240}>
        {({ here, lacking, tuners = [], no_tls }) => (
          <>
            {here.length > 0 && (
              <FoldingTable fz="sm" verticalSpacing={5} aria-label="Knobs of the kernel">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Knob</Table.Th>
                    <Table.Th data-right>Now</Table.Th>
                    <Table.Th>May become</Table.Th>
                    <Table.Th>Counts for</Table.Th>
                    <Table.Th>Tuned</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {here.map(({ knob, needs }) => (
                    <Table.Tr key={knob.name}>
                      <Table.Th scope="row" title={knob.help}>
                        <code>{knob.name}</code>
                      </Table.Th>
                      <Table.Td data-right data-name="Now">
                        {typeof knob.default === 'number' ? formatCount(knob.default) : knob.default}{' '}
                        {knob.unit}
                      </Table.Td>
                      <Table.Td data-name="May become">{allowed(knob)}</Table.Td>
                      <Table.Td data-name="Counts for">
                        {knob.scope === 'namespace' ? 'network namespace' : 'whole machine'}
                      </Table.Td>
                      <Table.Td data-name="Tuned">{TUNED[needs]}</Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </FoldingTable>
            )}
            {tuners.map(({ name, pid, sets }) => (
              <Message key={pid} tone="warn" title={`${name} is running (process ${pid}).`}>
                It {sets}. A trial under which a value moves does not count.
              </Message>
            ))}
            {(lacking.length > 0 || no_tls) && (
              <>
                <h3 className={classes.heading}>What cannot be set here</h3>
                <ul className={classes.lacking} aria-label="What cannot be set here">
                  {lacking.map(({ name, reason }) => (
                    <li key={name}>
                      <code>{name}</code>: {reason}
                    </li>
                  ))}
                  {no_tls && <li>TLS by the kernel: {no_tls}</li>}
                </ul>
              </>
            )}
          </>
        )}
      </Loadable>
    </Panel>
  );
}
