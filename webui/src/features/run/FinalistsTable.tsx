// Every figure of every finalist: a row for each, the recommended one on top.

import { Table } from '@mantine/core';
import type { Performance } from '../../api/generated';
import { FoldingTable } from '../../components/FoldingTable';
import { GainText } from '../../components/GainText';
import { IntervalBar } from '../../components/IntervalBar';
import { WithTerms } from '../../components/Term';
import { formatMbps, formatRate } from '../../maths/format';
import { intervalText, leastText } from '../../maths/intervals';
import { type Finalist, mostOf, TOLD, type Told } from './finalists';
import classes from './Run.module.css';

/** `than` is what gains are over. */
export function FinalistsTable({ of, than = 'default' }: { of: readonly Finalist[]; than?: string }) {
  const performances = of.map(({ performance }) => performance);
  const load = performances.find(({ load_rps }) => load_rps != null)?.load_rps;
  const known = TOLD.filter(({ figure }) => performances.some((one) => figure(one)));
  const gains = performances.some(({ capacity_gain }) => capacity_gain);
  const more = `More load than the ${than}`;
  return (
    <FoldingTable
      className={classes.finalists}
      mt="md"
      fz="sm"
      verticalSpacing={5}
      aria-label="What the finalists do"
    >
      <Table.Thead>
        <Table.Tr>
          <Table.Th data-stays>
            <WithTerms text="Mean, 95 % interval" />
            {load != null && known.some(({ loaded }) => loaded) && (
              <span className={classes.interval}>latency and CPU at {formatRate(load)}</span>
            )}
          </Table.Th>
          {gains && (
            <Table.Th data-right className={classes.told}>
              {more}
            </Table.Th>
          )}
          {known.map((told) => (
            <Table.Th key={told.name} data-right className={classes.told}>
              <WithTerms text={told.name} />
            </Table.Th>
          ))}
          <Table.Th data-right>Score</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {of.map(({ name, differs, isBest, performance, ranked }) => (
          <Table.Tr key={name} className={classes.finalist} data-best={isBest || undefined}>
            <Table.Th scope="row">
              {name}
              {differs && <code>{differs}</code>}
            </Table.Th>
            {gains && (
              <Table.Td data-right data-name={more}>
                {performance.capacity_gain ? (
                  <GainText gain={performance.capacity_gain} atLeast={performance.at_least ?? false} />
                ) : (
                  '–'
                )}
              </Table.Td>
            )}
            {known.map((told) => (
              <Table.Td key={told.name} data-right data-name={told.name}>
                <ToldCell told={told} of={performance} own={isBest} max={mostOf(told, performances)} />
              </Table.Td>
            ))}
            <Table.Td data-right data-name="Score">
              {formatMbps(ranked.mean_score_mbps)}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </FoldingTable>
  );
}

interface ToldCellProps {
  told: Told;
  of: Performance;
  own: boolean;
  max: number;
}

function ToldCell({ told: { figure, format, bounded }, of, own, max }: ToldCellProps) {
  const value = figure(of);
  if (!value) return <>–</>;
  return (
    <>
      {bounded && leastText(of.at_least)}
      {format(value.mean)}
      <IntervalBar figure={value} max={max} own={own} />
      <span className={classes.interval}>{intervalText(value, format)}</span>
    </>
  );
}
