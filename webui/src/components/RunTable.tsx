// Runs as rows: what was tuned, how it stands, what it takes and what it gained.

import { Badge, Table } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import type { RunSummary } from '../api/generated';
import { useProgress } from '../api/useProgress';
import { formatCount, formatDuration, formatMbps, formatRate, formatTime } from '../maths/format';
import { leastText } from '../maths/intervals';
import { searches } from '../maths/presets';
import { FoldingTable } from './FoldingTable';
import { GainText } from './GainText';
import { TextLink } from './links';
import { RunStateMark } from './RunState';
import classes from './RunTable.module.css';

/** What the columns are called, by any of which the table can be sorted. */
const TITLES = {
  run: 'Run',
  target: 'Target and workload',
  state: 'State',
  trials: 'Trials',
  capacity: 'Capacity',
  gain: 'Gain over default',
  score: 'Best score',
  started: 'Started',
  took: 'Took',
} as const;
const RIGHT: readonly RunColumn[] = ['trials', 'capacity', 'gain', 'score', 'took'];

export type RunColumn = keyof typeof TITLES;

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
    <FoldingTable verticalSpacing="xs" highlightOnHover>
      <Table.Thead>
        <Table.Tr>
          {(Object.keys(TITLES) as RunColumn[]).map((column) => (
            <Head key={column} column={column} sort={sort} onSort={onSort} />
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {runs.map((run) => (
          <Table.Tr key={run.id}>
            <Table.Th scope="row" className={classes.lead}>
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
            </Table.Th>
            <Table.Td data-name={TITLES.target}>
              {run.target} · {run.workload} · {run.preset}
            </Table.Td>
            <Table.Td data-name={TITLES.state}>
              <RunStateMark
                state={run.state}
                paused={progress?.run_id === run.id && progress.pause === 'yes'}
              />
            </Table.Td>
            <Table.Td data-right data-name={TITLES.trials}>
              {formatCount(run.trials)}
            </Table.Td>
            <Table.Td data-right data-name={TITLES.capacity}>
              {run.capacity_rps === null
                ? '–'
                : leastText(run.capacity_at_least) + formatRate(run.capacity_rps)}
            </Table.Td>
            <Table.Td data-right data-name={TITLES.gain}>
              <GainCell run={run} />
            </Table.Td>
            <Table.Td data-right data-name={TITLES.score}>
              {formatMbps(run.best_score)}
            </Table.Td>
            <Table.Td data-name={TITLES.started}>{formatTime(run.created_at)}</Table.Td>
            <Table.Td data-right data-name={TITLES.took}>
              {durationOf(run)}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </FoldingTable>
  );
}

interface HeadProps {
  column: RunColumn;
  sort: string;
  onSort: ((sort: string) => void) | undefined;
}

function Head({ column, sort, onSort }: HeadProps) {
  const ascends = sort === column;
  const descends = sort === `-${column}`;
  const title = TITLES[column];
  const right = RIGHT.includes(column) || undefined;
  if (onSort === undefined) return <Table.Th data-right={right}>{title}</Table.Th>;
  return (
    <Table.Th data-right={right} aria-sort={ascends ? 'ascending' : descends ? 'descending' : 'none'}>
      <button type="button" className={classes.sort} onClick={() => onSort(descends ? column : `-${column}`)}>
        {title}
        {ascends && <IconArrowUp size={13} aria-hidden />}
        {descends && <IconArrowDown size={13} aria-hidden />}
      </button>
    </Table.Th>
  );
}
