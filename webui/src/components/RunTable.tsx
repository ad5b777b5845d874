// Runs as rows: what was tuned, how it stands, what it gained.

import { Table } from '@mantine/core';
import type { RunSummary } from '../api/generated';
import { formatCount, formatDuration, formatMbps, formatTime } from '../maths/format';
import { searches } from '../maths/presets';
import { GainText } from './GainText';
import { TextLink } from './links';
import { RunStateMark } from './RunState';
import classes from './RunTable.module.css';

function durationOf(run: RunSummary): string {
  if (run.finished_at === null) return '–';
  return formatDuration((Date.parse(run.finished_at) - Date.parse(run.started_at)) / 1000);
}

function GainCell({ run }: { run: RunSummary }) {
  const { keeps_default, gain, capacity_gain, capacity_at_least, state } = run;
  if (!searches(run.preset)) return 'no search';
  if (keeps_default) return 'default kept';
  if (capacity_gain !== null) return <GainText gain={capacity_gain} atLeast={capacity_at_least} />;
  if (state !== 'finished') return '–';
  if (gain === null) return 'cannot be told';
  return (
    <>
      <GainText gain={gain} />
      <span className={classes.aside}>in score</span>
    </>
  );
}

export function RunTable({ runs }: { runs: readonly RunSummary[] }) {
  return (
    <Table.ScrollContainer minWidth={860} type="native">
      <Table verticalSpacing="xs" highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Run</Table.Th>
            <Table.Th>Target and workload</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th ta="right">Trials</Table.Th>
            <Table.Th ta="right">Best score</Table.Th>
            <Table.Th ta="right">Gain over default</Table.Th>
            <Table.Th>Started</Table.Th>
            <Table.Th ta="right">Took</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {runs.map((run) => (
            <Table.Tr key={run.id}>
              <Table.Td>
                <TextLink to="/runs/$id" params={{ id: run.id }} fw={600} className={classes.run}>
                  Run {run.id}
                </TextLink>
                {run.name !== '' && <span className={classes.name}>{run.name}</span>}
                {run.archived && <span className={classes.aside}>archived</span>}
              </Table.Td>
              <Table.Td>
                {run.target} · {run.workload} · {run.preset}
              </Table.Td>
              <Table.Td>
                <RunStateMark state={run.state} />
              </Table.Td>
              <Table.Td ta="right">{formatCount(run.trials)}</Table.Td>
              <Table.Td ta="right">{formatMbps(run.best_score)}</Table.Td>
              <Table.Td ta="right">
                <GainCell run={run} />
              </Table.Td>
              <Table.Td>{formatTime(run.started_at)}</Table.Td>
              <Table.Td ta="right">{durationOf(run)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
