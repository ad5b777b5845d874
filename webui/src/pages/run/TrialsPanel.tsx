// Every trial as a row that can be sorted by any column and chosen for the curves.

import { Button, Table } from '@mantine/core';
import { IconArrowDown, IconArrowsSort, IconArrowUp } from '@tabler/icons-react';
import {
  type Column,
  createColumnHelper,
  flexRender,
  getCoreRowModel,
  getSortedRowModel,
  type SortingState,
  useReactTable,
} from '@tanstack/react-table';
import { useMemo, useState } from 'react';
import type { RunDetail, TrialSummary } from '../../api/generated';
import { TextLink } from '../../components/links';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { VerdictMark } from '../../components/RunState';
import { formatCount, formatDuration, formatGain, formatMbps } from '../../maths/format';
import { freeKnobs, gainOver, verdictCounts } from './facts';
import classes from './Run.module.css';

interface TrialsPanelProps {
  run: RunDetail;
  trials: readonly TrialSummary[];
  standardScore: number | null;
  selected: number | undefined;
  onSelect: (trial: number) => void;
}

const column = createColumnHelper<TrialSummary>();
const seconds = (trial: TrialSummary) =>
  (Date.parse(trial.finished_at) - Date.parse(trial.started_at)) / 1000;

function makeColumns(knobs: readonly string[], standardScore: number | null) {
  return [
    column.accessor('number', {
      header: 'Trial',
      cell: ({ row: { original } }) => (
        <TextLink
          to="/runs/$id/trials/$number"
          params={{ id: original.run_id, number: original.number }}
          size="sm"
          aria-label={`Trial ${original.number}`}
        >
          {original.number}
        </TextLink>
      ),
      meta: { right: true },
    }),
    column.accessor('purpose', { header: 'Purpose' }),
    ...knobs.map((knob) =>
      column.accessor((trial) => trial.configuration[knob], {
        id: knob,
        header: knob,
        cell: ({ getValue }) => {
          const value = getValue();
          return typeof value === 'number' ? formatCount(value) : value;
        },
        meta: { right: true },
      }),
    ),
    column.accessor('verdict', {
      header: 'Verdict',
      cell: ({ getValue }) => <VerdictMark verdict={getValue()} />,
    }),
    column.accessor((trial) => trial.score ?? undefined, {
      id: 'score',
      header: 'Score',
      sortUndefined: 'last',
      cell: ({ getValue }) => formatMbps(getValue()),
      meta: { right: true },
    }),
    column.accessor((trial) => gainOver(trial.score, standardScore) ?? undefined, {
      id: 'gain',
      header: 'Over default',
      sortUndefined: 'last',
      cell: ({ getValue }) => formatGain(getValue()),
      meta: { right: true },
    }),
    column.accessor(seconds, {
      id: 'took',
      header: 'Took',
      cell: ({ getValue }) => formatDuration(getValue()),
      meta: { right: true },
    }),
    column.accessor('reason', {
      header: 'Reason',
      enableSorting: false,
      cell: ({ getValue }) => <span className={classes.reason}>{getValue()}</span>,
    }),
  ];
}

export function TrialsPanel({ run, trials, standardScore, selected, onSelect }: TrialsPanelProps) {
  const [sorting, setSorting] = useState<SortingState>([{ id: 'number', desc: true }]);
  const data = useMemo(() => [...trials], [trials]);
  const columns = useMemo(() => makeColumns(freeKnobs(run.space), standardScore), [run.space, standardScore]);
  const table = useReactTable({
    data,
    columns,
    state: { sorting },
    onSortingChange: setSorting,
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
  });
  return (
    <Panel title="Trials" actions={<VerdictCounts trials={trials} />}>
      {trials.length === 0 ? (
        <Message title="No trial has been recorded yet." />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section className={classes.tableScroll} tabIndex={0} aria-label="Table of trials">
          <Table stickyHeader verticalSpacing={6} fz="sm" highlightOnHover>
            <Table.Thead>
              <Table.Tr>
                {table.getFlatHeaders().map((header) => (
                  <Table.Th
                    key={header.id}
                    ta={isRight(header.column) ? 'right' : undefined}
                    aria-sort={ariaSort(header.column)}
                  >
                    {header.column.getCanSort() ? (
                      <button
                        type="button"
                        className={classes.sort}
                        onClick={header.column.getToggleSortingHandler()}
                      >
                        {flexRender(header.column.columnDef.header, header.getContext())}
                        <SortIcon column={header.column} />
                      </button>
                    ) : (
                      flexRender(header.column.columnDef.header, header.getContext())
                    )}
                  </Table.Th>
                ))}
                <Table.Th>
                  <span className="visually-hidden">Curves</span>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {table.getRowModel().rows.map((row) => (
                <Table.Tr key={row.id} bg={row.original.number === selected ? 'var(--tt-subtle)' : undefined}>
                  {row.getVisibleCells().map((cell) => (
                    <Table.Td key={cell.id} ta={isRight(cell.column) ? 'right' : undefined}>
                      {flexRender(cell.column.columnDef.cell, cell.getContext())}
                    </Table.Td>
                  ))}
                  <Table.Td>
                    <Button
                      size="compact-xs"
                      variant={row.original.number === selected ? 'filled' : 'default'}
                      aria-pressed={row.original.number === selected}
                      aria-label={`Show the curve of trial ${row.original.number}`}
                      onClick={() => onSelect(row.original.number)}
                    >
                      Curve
                    </Button>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </section>
      )}
    </Panel>
  );
}

type AnyColumn = Column<TrialSummary, unknown>;

const isRight = ({ columnDef }: AnyColumn): boolean =>
  Boolean((columnDef.meta as { right?: boolean } | undefined)?.right);

function ariaSort(of: AnyColumn): 'ascending' | 'descending' | 'none' | undefined {
  if (!of.getCanSort()) return undefined;
  const sorted = of.getIsSorted();
  return sorted === false ? 'none' : sorted === 'asc' ? 'ascending' : 'descending';
}

function SortIcon({ column: of }: { column: AnyColumn }) {
  const sorted = of.getIsSorted();
  const Icon = sorted === false ? IconArrowsSort : sorted === 'asc' ? IconArrowUp : IconArrowDown;
  return <Icon size={13} stroke={sorted === false ? 1.25 : 2.25} aria-hidden />;
}

function VerdictCounts({ trials }: { trials: readonly TrialSummary[] }) {
  return (
    <ul className={classes.counts} aria-label="Verdicts">
      {verdictCounts(trials).map(([verdict, count]) => (
        <li key={verdict}>
          <strong>{formatCount(count)}</strong>
          <VerdictMark verdict={verdict} />
        </li>
      ))}
    </ul>
  );
}
