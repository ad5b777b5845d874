// A run with two objectives: every trial by both, and the configurations that no other beats in both.

import { Table } from '@mantine/core';
import { memo } from 'react';
import type { Front, FrontMember, RunDetail, TrialSummary } from '../../api/generated';
import { type Curve, CurveChart } from '../../charts/CurveChart';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { formatMbps } from '../../maths/format';
import { describeConfiguration } from '../../maths/knobDiff';
import { plainInText, plainName } from '../../maths/plainNames';
import { formatSecond, isCost } from '../../maths/secondObjective';
import { freePart } from '../../maths/space';
import classes from './Run.module.css';

interface FrontPanelProps {
  run: RunDetail;
  second: string;
  trials: readonly TrialSummary[];
}

export const FrontPanel = memo(function FrontPanel({ run, second, trials }: FrontPanelProps) {
  const front = run.outcome?.front ?? null;
  const points = trials.flatMap(({ purpose, score, second_score }) =>
    purpose === 'search' && score !== null && second_score !== null ? [{ x: second_score, y: score }] : [],
  );
  const curves: Curve[] = [{ label: 'trials of the search', points, style: 4, shape: 'points' }];
  if (front) {
    const members = front.members.map(({ score_mbps, second_score }) => ({ x: second_score, y: score_mbps }));
    curves.push({ label: 'the front', points: members, style: 0 });
  }
  return (
    <Panel
      title={`${plainName(run.objective)} against ${plainInText(second)}`}
      description={`Up is better${isCost(second) ? ', left is better' : ', right is better'}. On the front no configuration is better than another in both.`}
    >
      {points.length === 0 ? (
        <Message title="No trial has both figures yet.">Points appear as trials are verified.</Message>
      ) : (
        <CurveChart
          label={`Trials by ${plainInText(second)} and ${plainInText(run.objective)}`}
          xName={plainName(second)}
          curves={curves}
          formatX={(value) => formatSecond(second, value)}
          formatY={formatMbps}
          height={300}
          fitted
        />
      )}
      {front && <Members run={run} front={front} />}
    </Panel>
  );
});

function placeOf({ place }: FrontMember, { first, second }: Front): string {
  if (place === 'best-first') return `best in ${plainInText(first.objective)}`;
  if (place === 'best-second') return `best in ${plainInText(second.objective)}`;
  return place === 'knee' ? 'the knee' : 'between an end and the knee';
}

function Members({ run, front }: { run: RunDetail; front: Front }) {
  return (
    <div className={classes.detail}>
      <ScrollTable label="The front">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Place</Table.Th>
            <Table.Th>Configuration</Table.Th>
            <Table.Th ta="right">{plainName(front.first.objective)}</Table.Th>
            <Table.Th ta="right">{plainName(front.second.objective)}</Table.Th>
            <Table.Th>Measured in</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {front.members.map((member) => (
            <Table.Tr key={member.configuration_hash}>
              <Table.Td>{placeOf(member, front)}</Table.Td>
              <Table.Td>
                <code>{describeConfiguration(freePart(member.configuration, run.space))}</code>
                {member.is_best && (
                  <strong>{run.outcome?.confirmed ? ' recommended' : ' leads so far'}</strong>
                )}
                {member.is_default && ' (default)'}
              </Table.Td>
              <Table.Td ta="right">{formatMbps(member.score_mbps)}</Table.Td>
              <Table.Td ta="right">{formatSecond(front.second.objective, member.second_score)}</Table.Td>
              <Table.Td>{member.confirmed ? 'the confirmation' : 'the search'}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </ScrollTable>
      {front.members.some(({ place }) => place === 'knee') && (
        <p className={classes.dimmed}>
          The knee is where a little more of the one begins to cost much of the other.
        </p>
      )}
    </div>
  );
}
