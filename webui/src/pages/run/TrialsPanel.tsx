// Every trial as a row that can be sorted by any column, filtered, jumped to, and chosen for the curves. Only the
// rows in sight are drawn: a run may have ten thousand.

import { Button, NumberInput, Table, TextInput } from '@mantine/core';
import { IconArrowDown, IconArrowsSort, IconArrowUp } from '@tabler/icons-react';
import {
  type Column,
  createColumnHelper,
  flexRender,
  getCoreRowModel,
  getSortedRowModel,
  type Table as ReactTable,
  type SortingState,
  useReactTable,
} from '@tanstack/react-table';
import { useMemo, useRef, useState } from 'react';
import type { RunDetail, TrialSummary } from '../../api/generated';
import { TextLink } from '../../components/links';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { VerdictMark } from '../../components/RunState';
import { useWindowedRows } from '../../hooks/useWindowedRows';
import { formatCount, formatDuration, formatGain, formatMbps } from '../../maths/format';
import { formatSecond, freeKnobs, gainOver, verdictCounts } from './facts';
import classes from './Run.module.css';

interface TrialsPanelProps {
  run: RunDetail;
  trials: readonly TrialSummary[];
  /** The trials that the filter keeps. */
  kept: readonly TrialSummary[];
  filter: string;
  /** What is wrong with the filter, if anything. */
  filterError: string | null;
  standardScore: number | null;
  /** Numbers of the trials whose curves are shown. */
  chosen: readonly number[];
  onFilter: (filter: string) => void;
  onChoose: (trial: number) => void;
}

const ROW_PX = 36;
const BOX_PX = 512;

const column = createColumnHelper<TrialSummary>();
const seconds = (trial: TrialSummary) =>
  (Date.parse(trial.finished_at) - Date.parse(trial.started_at)) / 1000;

function makeColumns(knobs: readonly string[], standardScore: number | null, second: string | null) {
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
    ...(second === null
      ? []
      : [
          column.accessor((trial) => trial.second_score ?? undefined, {
            id: 'second',
            header: second,
            sortUndefined: 'last',
            cell: ({ getValue }) => formatSecond(second, getValue()),
            meta: { right: true },
          }),
        ]),
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
      cell: ({ getValue }) => (
        <span className={classes.reason} title={getValue()}>
          {getValue()}
        </span>
      ),
    }),
  ];
}

export function TrialsPanel(props: TrialsPanelProps) {
  const { run, trials, kept, standardScore, chosen, onChoose } = props;
  const [sorting, setSorting] = useState<SortingState>([{ id: 'number', desc: true }]);
  const data = useMemo(() => [...kept], [kept]);
  const columns = useMemo(
    () => makeColumns(freeKnobs(run.space), standardScore, run.second_objective),
    [run.space, run.second_objective, standardScore],
  );
  const table = useReactTable({
    data,
    columns,
    state: { sorting },
    onSortingChange: setSorting,
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
  });
  const { rows } = table.getRowModel();
  const drawn = useWindowedRows(rows.length, ROW_PX, BOX_PX);
  const box = useRef<HTMLElement>(null);
  const jump = (number: number): boolean => {
    const index = rows.findIndex(({ original }) => original.number === number);
    if (index >= 0) box.current?.scrollTo({ top: Math.max(0, index - 3) * ROW_PX });
    return index >= 0;
  };
  return (
    <Panel title="Trials" actions={<VerdictCounts trials={trials} />}>
      {trials.length === 0 ? (
        <Message title="No trial has been recorded yet." />
      ) : (
        <>
          <Tools {...props} onJump={jump} />
          <section
            ref={box}
            className={classes.tableScroll}
            aria-label="Table of trials"
            onScroll={drawn.onScroll}
          >
            <Table stickyHeader verticalSpacing={6} fz="sm" highlightOnHover aria-rowcount={rows.length + 1}>
              <Head table={table} />
              <Table.Tbody>
                <Spacer height={drawn.above} />
                {rows.slice(drawn.first, drawn.end).map((row, place) => (
                  <Table.Tr
                    key={row.id}
                    className={classes.row}
                    aria-rowindex={drawn.first + place + 2}
                    bg={chosen.includes(row.original.number) ? 'var(--tt-subtle)' : undefined}
                  >
                    {row.getVisibleCells().map((cell) => (
                      <Table.Td key={cell.id} ta={isRight(cell.column) ? 'right' : undefined}>
                        {flexRender(cell.column.columnDef.cell, cell.getContext())}
                      </Table.Td>
                    ))}
                    <Table.Td className="sticky-end">
                      <CurveButton
                        number={row.original.number}
                        chosen={chosen.includes(row.original.number)}
                        onChoose={onChoose}
                      />
                    </Table.Td>
                  </Table.Tr>
                ))}
                <Spacer height={drawn.below} />
              </Table.Tbody>
            </Table>
          </section>
        </>
      )}
    </Panel>
  );
}

/** Stands for the rows that are not drawn. */
function Spacer({ height }: { height: number }) {
  return height > 0 ? (
    <tr className={classes.spacer} aria-hidden>
      <td style={{ height }} />
    </tr>
  ) : null;
}

function CurveButton(props: { number: number; chosen: boolean; onChoose: (trial: number) => void }) {
  const { number, chosen, onChoose } = props;
  return (
    <Button
      size="compact-xs"
      variant={chosen ? 'filled' : 'default'}
      aria-pressed={chosen}
      aria-label={`Show the curve of trial ${number}`}
      onClick={() => onChoose(number)}
    >
      Curve
    </Button>
  );
}

function Head({ table }: { table: TrialTable }) {
  return (
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
        <Table.Th className="sticky-end">
          <span className="visually-hidden">Curves</span>
        </Table.Th>
      </Table.Tr>
    </Table.Thead>
  );
}

function Tools(props: TrialsPanelProps & { onJump: (number: number) => boolean }) {
  const { trials, kept, filter, filterError, onFilter, onJump } = props;
  const [missing, setMissing] = useState<number | null>(null);
  const [wanted, setWanted] = useState<string | number>('');
  return (
    <div className={classes.tools}>
      <TextInput
        className={classes.filter}
        size="xs"
        aria-label="Filter of the trials"
        placeholder="Filter, such as: workers>=4 crashed score>500"
        value={filter}
        error={filterError}
        onChange={(event) => onFilter(event.currentTarget.value)}
      />
      <span className={classes.shown} role="status">
        {kept.length === trials.length
          ? `${formatCount(trials.length)} ${trials.length === 1 ? 'trial' : 'trials'}`
          : `${formatCount(kept.length)} of ${formatCount(trials.length)} trials`}
      </span>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typeof wanted === 'number') setMissing(onJump(wanted) ? null : wanted);
        }}
      >
        <NumberInput
          size="xs"
          w={150}
          aria-label="Jump to the trial with this number"
          leftSection={<span className={classes.dimmed}>Jump to</span>}
          leftSectionWidth={62}
          hideControls
          allowDecimal={false}
          min={1}
          value={wanted}
          error={missing !== null && `Trial ${missing} is not in the table.`}
          onChange={setWanted}
        />
      </form>
    </div>
  );
}

type AnyColumn = Column<TrialSummary, unknown>;
type TrialTable = ReactTable<TrialSummary>;

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
