// Runs as rows: what was tuned, how it stands, what it takes and what it gained.

import { Badge, Table } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import type { RunSummary } from '../api/generated';
import { useProgress } from '../api/useProgress';
import { formatCount, formatDuration, formatMbps, formatRate, formatTime } from '../maths/format';
import { leastText } from '../maths/intervals';
import { searches } from '../maths/presets';
import { GainText } from './GainText';
import { TextLink } from './links';
import { RunStateMark } from './RunState';
import classes from './RunTable.module.css';

/** The columns by which the table can be sorted. */
export type RunColumn =
  | 'run'
  | 'target'
  | 'state'
  | 'trials'
  | 'capacity'
  | 'gain'
  | 'score'
  | 'started'
  | 'took';

const HEADS: readonly { column: RunColumn; title: string; right?: true }[] = [
  { column: 'run', title: 'Run' },
  { column: 'target', title: 'Target and workload' },
  { column: 'state', title: 'State' },
  { column: 'trials', title: 'Trials', right: true },
  { column: 'capacity', title: 'Capacity', right: true },
  { column: 'gain', title: 'Gain over default', right: true },
  { column: 'score', title: 'Best score', right: true },
  { column: 'started', title: 'Started' },
  { column: 'took', title: 'Took', right: true },
];

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

interface RunTableProps {
  runs: readonly RunSummary[];
  /** The column that the rows are sorted by, after `-` where it descends. */
  sort?: string;
  /** Asked for another order; without it the order is fixed. */
  onSort?: (sort: string) => void;
}

export function RunTable({ runs, sort = '', onSort }: RunTableProps) {
  const progress = useProgress();
  return (
    <Table.ScrollContainer minWidth={960} type="native">
      <Table verticalSpacing="xs" highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            {HEADS.map((head) => (
              <Head key={head.column} {...head} sort={sort} onSort={onSort} />
            ))}
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
                {run.tags.map((tag) => (
                  <Badge key={tag} size="xs" variant="default" tt="none" mr={4}>
                    {tag}
                  </Badge>
                ))}
              </Table.Td>
              <Table.Td>
                {run.target} · {run.workload} · {run.preset}
              </Table.Td>
              <Table.Td>
                <RunStateMark
                  state={run.state}
                  paused={progress?.run_id === run.id && progress.pause === 'yes'}
                />
              </Table.Td>
              <Table.Td ta="right">{formatCount(run.trials)}</Table.Td>
              <Table.Td ta="right">
                {run.capacity_rps === null
                  ? '–'
                  : leastText(run.capacity_at_least) + formatRate(run.capacity_rps)}
              </Table.Td>
              <Table.Td ta="right">
                <GainCell run={run} />
              </Table.Td>
              <Table.Td ta="right">{formatMbps(run.best_score)}</Table.Td>
              <Table.Td>{formatTime(run.created_at)}</Table.Td>
              <Table.Td ta="right">{durationOf(run)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

interface HeadProps {
  column: RunColumn;
  title: string;
  right?: true;
  sort: string;
  onSort: ((sort: string) => void) | undefined;
}

function Head({ column, title, right, sort, onSort }: HeadProps) {
  const ascends = sort === column;
  const descends = sort === `-${column}`;
  const align = right && 'right';
  if (onSort === undefined) return <Table.Th ta={align}>{title}</Table.Th>;
  return (
    <Table.Th ta={align} aria-sort={ascends ? 'ascending' : descends ? 'descending' : 'none'}>
      <button type="button" className={classes.sort} onClick={() => onSort(descends ? column : `-${column}`)}>
        {title}
        {ascends && <IconArrowUp size={13} aria-hidden />}
        {descends && <IconArrowDown size={13} aria-hidden />}
      </button>
    </Table.Th>
  );
}
