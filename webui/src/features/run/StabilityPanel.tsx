import { Table } from '@mantine/core';
import type { RunDetail, Stability } from '../../api/generated';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { formatGain } from '../../maths/format';
import type { Configuration } from '../../maths/heatMapGrid';
import { changedKnobs } from '../../maths/knobDiff';
import { freePart } from '../../maths/space';
import classes from './Run.module.css';

interface StabilityPanelProps {
  stability: Stability;
  run: RunDetail;
  best: Configuration | null;
}

const KINDS = {
  flat: 'A flat optimum: neighbours do as well.',
  sharp: 'A sharp optimum: small changes cost.',
  unknown: 'Not known.',
} as const;

/** What becomes of the score when one knob of the best configuration is a step off. */
export function StabilityPanel({ stability, run, best }: StabilityPanelProps) {
  return (
    <Panel title="Stability" description={KINDS[stability.kind]}>
      <p className={classes.sentence}>{stability.sentence}</p>
      {stability.neighbours.length > 0 && (
        <ScrollTable label="Neighbours of the best configuration">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Neighbour</Table.Th>
              <Table.Th ta="right">Score against the best</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {stability.neighbours.map(({ configuration, relative_score }) => (
              <Table.Tr key={JSON.stringify(configuration)}>
                <Table.Td className={classes.wraps}>
                  <code>{differenceText(best, configuration, run)}</code>
                </Table.Td>
                <Table.Td ta="right">
                  {relative_score === null ? 'not verified' : formatGain(relative_score - 1)}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </ScrollTable>
      )}
    </Panel>
  );
}

function differenceText(best: Configuration | null, neighbour: Configuration, run: RunDetail): string {
  const changes = changedKnobs(freePart(best ?? {}, run.space), freePart(neighbour, run.space));
  return (
    changes.map(({ knob, from, to }) => `${knob} ${to} instead of ${from}`).join(', ') || 'the best itself'
  );
}
