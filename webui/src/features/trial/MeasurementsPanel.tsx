// Every rate of the trial as a row; the chosen one is shown in detail below.

import { Button, Table } from '@mantine/core';
import type { Measurement, TrialDetail } from '../../api/generated';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { Term, WithTerms } from '../../components/Term';
import { formatCount, formatMbps, formatMicroseconds, formatPercent } from '../../maths/format';
import type { Rungs } from '../../maths/rungs';
import classes from './Trial.module.css';

interface MeasurementsPanelProps {
  rungs: Rungs;
  trial: TrialDetail;
  selected: number;
  onSelect: (number: number) => void;
}

export function MeasurementsPanel({ rungs, trial, selected, onSelect }: MeasurementsPanelProps) {
  return (
    <Panel
      title="Measurements"
      description="One for each rate of the ladder, in the order of driving. Latency is of whole replies, from the intended start."
    >
      <ScrollTable label="Measurements by rate">
        <Table.Thead>
          <Table.Tr>
            <Table.Th ta="right">{rungs.name}</Table.Th>
            <Table.Th ta="right">
              <Term of="Goodput" />
            </Table.Th>
            <Table.Th ta="right">Replies</Table.Th>
            <Table.Th ta="right" className={classes.long}>
              <WithTerms text="Timed out before read" />
            </Table.Th>
            <Table.Th ta="right" className={classes.long}>
              Timed out after read
            </Table.Th>
            <Table.Th ta="right">Failed</Table.Th>
            <Table.Th ta="right" className={classes.long}>
              Never sent
            </Table.Th>
            <Table.Th ta="right">p50</Table.Th>
            <Table.Th ta="right">p90</Table.Th>
            <Table.Th ta="right">p99</Table.Th>
            <Table.Th ta="right">p99.9</Table.Th>
            <Table.Th>Verification</Table.Th>
            <Table.Th className="sticky-end">
              <span className="visually-hidden">Details</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {trial.measurements.map((measurement) => (
            <Table.Tr
              key={measurement.number}
              bg={measurement.number === selected ? 'var(--tt-subtle)' : undefined}
              data-chosen={measurement.number === selected || undefined}
            >
              <Table.Td ta="right">{rungs.format(measurement.rate_rps)}</Table.Td>
              <Table.Td ta="right">{formatMbps(measurement.goodput_mbps)}</Table.Td>
              <Table.Td ta="right">{withShare(measurement.requests.replied, measurement)}</Table.Td>
              <Table.Td ta="right">
                {withShare(measurement.requests.timed_out_before_read, measurement)}
              </Table.Td>
              <Table.Td ta="right">
                {withShare(measurement.requests.timed_out_after_read, measurement)}
              </Table.Td>
              <Table.Td ta="right">{formatCount(measurement.requests.failed)}</Table.Td>
              <Table.Td ta="right">{withShare(neverSent(measurement), measurement)}</Table.Td>
              <Table.Td ta="right">{formatMicroseconds(measurement.reply_latency.p50_us)}</Table.Td>
              <Table.Td ta="right">{formatMicroseconds(measurement.reply_latency.p90_us)}</Table.Td>
              <Table.Td ta="right">{formatMicroseconds(measurement.reply_latency.p99_us)}</Table.Td>
              <Table.Td ta="right">{formatMicroseconds(measurement.reply_latency.p999_us)}</Table.Td>
              <Table.Td>{verification(trial, measurement)}</Table.Td>
              <Table.Td className="sticky-end">
                <Button
                  size="compact-xs"
                  variant={measurement.number === selected ? 'filled' : 'default'}
                  aria-pressed={measurement.number === selected}
                  aria-label={`Details of ${rungs.format(measurement.rate_rps)}`}
                  onClick={() => onSelect(measurement.number)}
                >
                  Details
                </Button>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </ScrollTable>
    </Panel>
  );
}

/** Requests whose session had ended before them, and those that the generator itself dropped. */
const neverSent = ({ requests: { abandoned, dropped } }: Measurement): number => abandoned + dropped;

function withShare(count: number, { requests }: Measurement): string {
  return count === 0
    ? '0'
    : `${formatCount(count)} (${formatPercent(count / Math.max(1, requests.offered), 1)})`;
}

/** A rate may have been driven twice, while a violation names the rate alone: whether the rules held goes first. */
function verification(trial: TrialDetail, measurement: Measurement) {
  if (measurement.generator_limited) return 'generator-limited';
  if (measurement.held) return 'all rules hold';
  const rules = new Set(
    trial.violations.filter(({ rate_rps }) => rate_rps === measurement.rate_rps).map(({ rule }) => rule),
  );
  return (
    <span className={classes.violated}>
      {rules.size === 0 ? 'a constraint broken' : `broken: ${[...rules].join(', ')}`}
    </span>
  );
}
