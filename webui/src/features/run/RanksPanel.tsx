// How sure the outcome is: the finalists in ranks, with the gains that the repeats have shown.

import { Table } from '@mantine/core';
import type { Outcome, RunDetail } from '../../api/generated';
import { FoldingTable } from '../../components/FoldingTable';
import { GainText } from '../../components/GainText';
import { Panel } from '../../components/Panel';
import { Term, WithTerms } from '../../components/Term';
import { formatMbps } from '../../maths/format';
import { describeConfiguration, sameConfiguration } from '../../maths/knobDiff';
import { freePart } from '../../maths/space';
import { ConfidenceNote } from './ConfidenceNote';
import classes from './Run.module.css';

interface RanksPanelProps {
  run: RunDetail;
  outcome: Outcome;
}

export function RanksPanel({ run, outcome: { ranking, best, remark_on_ranks } }: RanksPanelProps) {
  const recommended = (row: (typeof ranking)[number]) => sameConfiguration(row.configuration, best);
  const rows = ranking.toSorted((a, b) => Number(recommended(b)) - Number(recommended(a)));
  return (
    <Panel
      title="How sure"
      description="Each finalist was measured several times, interleaved with the others. Those that share a rank cannot be told apart."
    >
      <FoldingTable fz="sm" verticalSpacing={5} aria-label="Ranks of the finalists">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>
              <Term of="Rank" />
            </Table.Th>
            <Table.Th>Configuration</Table.Th>
            <Table.Th data-right>Mean score</Table.Th>
            <Table.Th data-right>
              <WithTerms text="Gain in score" />
            </Table.Th>
            <Table.Th data-right>Repeats verified</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr
              key={row.configuration_hash}
              className={classes.finalist}
              data-best={recommended(row) || undefined}
            >
              <Table.Td data-name="Rank">{row.rank ?? '–'}</Table.Td>
              <Table.Td data-leads className={classes.wraps}>
                <code>{describeConfiguration(freePart(row.configuration, run.space))}</code>
                {row.is_default && ' (default)'}
                {recommended(row) && <strong> recommended</strong>}
              </Table.Td>
              <Table.Td data-right data-name="Mean score">
                {formatMbps(row.mean_score_mbps)}
              </Table.Td>
              <Table.Td data-right data-name="Gain in score">
                <GainText gain={row.gain} />
              </Table.Td>
              <Table.Td data-right data-name="Repeats verified">
                {row.scores_mbps.filter((score) => score !== null).length} of {row.scores_mbps.length}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </FoldingTable>
      <ConfidenceNote of={ranking.map(({ gain }) => gain)} />
      {remark_on_ranks && <p className={classes.dimmed}>{remark_on_ranks}</p>}
    </Panel>
  );
}
