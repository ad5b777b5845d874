// The answer: the outcome once there is one, until then the best so far, and how sure that is.

import { Table } from '@mantine/core';
import type { Outcome, RunDetail, TrialSummary } from '../../api/generated';
import { Figure, FigureList } from '../../components/Figure';
import { GainText } from '../../components/GainText';
import { KnobChips } from '../../components/KnobChips';
import { Panel } from '../../components/Panel';
import { formatGain, formatMbps } from '../../maths/format';
import { describeConfiguration, sameConfiguration } from '../../maths/knobDiff';
import { freePart, gainOver } from './facts';
import { finalists } from './finalists';
import { CapacityBars, Headline, PeopleTable } from './People';
import classes from './Run.module.css';

interface OutcomePanelProps {
  run: RunDetail;
  standard: TrialSummary | undefined;
  best: TrialSummary | undefined;
}

export function OutcomePanel({ run, standard, best }: OutcomePanelProps) {
  if (run.outcome) return <Found run={run} outcome={run.outcome} />;
  return (
    <Panel
      title="Best so far"
      description="By one trial each; the confirmation at the end says how sure the gain is."
    >
      <FigureList>
        <Figure
          label="Default"
          value={formatMbps(standard?.score)}
          detail={standard ? undefined : 'not measured yet'}
        />
        <Figure
          label="Best"
          value={formatMbps(best?.score ?? standard?.score)}
          detail={best ? undefined : standard && 'the default, so far'}
        />
        <Figure
          label="Gain over the default"
          value={formatGain(gainOver(best?.score, standard?.score))}
          detail="no interval yet"
        />
        {best && (
          <Figure label="Configuration" value={<KnobChips of={freePart(best.configuration, run.space)} />} />
        )}
      </FigureList>
    </Panel>
  );
}

function Found({ run, outcome }: { run: RunDetail; outcome: Outcome }) {
  const { confirmed, best, gain, ranking, remark_on_ranks: onRanks } = outcome;
  const isDefault = best !== null && sameConfiguration(best, outcome.default);
  const measured = ranking.some(({ scores_mbps }) => scores_mbps.length > 0);
  const people = finalists(outcome);
  const own = people.find(({ isBest }) => isBest);
  const standard = isDefault ? undefined : people.find(({ ranked }) => ranked.is_default);
  return (
    <Panel title="Outcome">
      <p className={classes.sentence}>{outcome.sentence}</p>
      <FigureList>
        {own && <Headline own={own.performance} standard={standard?.performance} />}
        <Figure
          label={own ? 'Gain in score' : 'Gain over the default'}
          value={isDefault ? 'none shown' : <GainText gain={gain} />}
          detail={isDefault ? 'the default is kept' : confirmed ? undefined : 'not confirmed'}
        />
        {best && (
          <Figure
            label={confirmed || isDefault ? 'Configuration to use' : 'Best of the search'}
            value={<KnobChips of={freePart(best, run.space)} />}
          />
        )}
      </FigureList>
      <CapacityBars of={people} />
      {people.length > 0 && <PeopleTable of={people} />}
      {measured && (
        <>
          <Ranking run={run} ranking={ranking} />
          <p className={classes.dimmed}>
            Confirmed, interleaved. Those that share a rank cannot be told apart. {onRanks}
          </p>
        </>
      )}
    </Panel>
  );
}

function Ranking({ run, ranking }: { run: RunDetail; ranking: Outcome['ranking'] }) {
  return (
    <Table.ScrollContainer minWidth={520} type="native" mt="md">
      <Table fz="sm" verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Rank</Table.Th>
            <Table.Th>Configuration</Table.Th>
            <Table.Th ta="right">Mean score</Table.Th>
            <Table.Th ta="right">Gain over default</Table.Th>
            <Table.Th ta="right">Repeats verified</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {ranking.map((row) => (
            <Table.Tr key={row.configuration_hash}>
              <Table.Td>{row.rank ?? '–'}</Table.Td>
              <Table.Td>
                <code>{describeConfiguration(freePart(row.configuration, run.space))}</code>
                {row.is_default && ' (default)'}
              </Table.Td>
              <Table.Td ta="right">{formatMbps(row.mean_score_mbps)}</Table.Td>
              <Table.Td ta="right">
                <GainText gain={row.gain} />
              </Table.Td>
              <Table.Td ta="right">
                {row.scores_mbps.filter((score) => score !== null).length} of {row.scores_mbps.length}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
