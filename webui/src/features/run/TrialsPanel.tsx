// Every trial as a row that can be sorted by any column, filtered, jumped to, and chosen for the curves. Only the
// rows in sight are drawn: a run may have ten thousand. Where the window has no room for the columns, what was tried is
// one text below the rest of its row.

import { NumberInput, Table, TextInput } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconArrowDown, IconArrowsSort, IconArrowUp } from '@tabler/icons-react';
import {
  type Column,
  flexRender,
  functionalUpdate,
  getCoreRowModel,
  getSortedRowModel,
  type Table as ReactTable,
  type SortingState,
  type Updater,
  useReactTable,
} from '@tanstack/react-table';
import { memo, useCallback, useMemo, useRef, useState } from 'react';
import type { RunDetail, TrialSummary } from '../../api/generated';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { VerdictMark } from '../../components/RunState';
import { formatCount } from '../../maths/format';
import { defaultConfiguration, freeKnobs } from '../../maths/space';
import { CsvLinks } from './CsvLinks';
import { verdictCounts } from './keyTrials';
import { TrialRow } from './TrialRow';
import classes from './Trials.module.css';
import { hiddenColumns, isRight, makeColumns } from './trialColumns';
import { useWindowedRows } from './useWindowedRows';

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
  /** The column that the table is sorted by, after `-` where it descends; the newest trial first when left out. */
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
  onFilter: (filter: string) => void;
  onChoose: (trial: number) => void;
}

const sortingOf = (sort = '-number'): SortingState => [
  { id: sort.replace(/^-/, ''), desc: sort.startsWith('-') },
];

const ROW_PX = 36;
const FOLDED_ROW_PX = 80;
const BOX_PX = 512;

export const TrialsPanel = memo(function TrialsPanel(props: TrialsPanelProps) {
  const { run, trials, kept, standardScore, chosen, sort, onSort, onChoose } = props;
  const sorting = useMemo(() => sortingOf(sort), [sort]);
  const setSorting = useCallback(
    (change: Updater<SortingState>) => {
      const [first] = functionalUpdate(change, sorting);
      onSort(first && `${first.desc ? '-' : ''}${first.id}`);
    },
    [sorting, onSort],
  );
  const data = useMemo(() => [...kept], [kept]);
  const knobs = useMemo(() => freeKnobs(run.space), [run.space]);
  const columns = useMemo(
    () => makeColumns(knobs, defaultConfiguration(run.space), standardScore, run.second_objective),
    [knobs, run.space, run.second_objective, standardScore],
  );
  const folded = useMediaQuery('(max-width: 64rem)', false, { getInitialValueInEffect: false });
  const columnVisibility = useMemo(() => hiddenColumns(knobs, folded), [knobs, folded]);
  const rowPx = folded ? FOLDED_ROW_PX : ROW_PX;
  const table = useReactTable({
    data,
    columns,
    state: { sorting, columnVisibility },
    onSortingChange: setSorting,
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
  });
  const { rows } = table.getRowModel();
  const drawn = useWindowedRows(rows.length, rowPx, BOX_PX);
  const box = useRef<HTMLElement>(null);
  const jump = (number: number): boolean => {
    const index = rows.findIndex(({ original }) => original.number === number);
    if (index >= 0) box.current?.scrollTo({ top: Math.max(0, index - 3) * rowPx });
    return index >= 0;
  };
  return (
    <Panel
      title="Trials"
      description="Every trial with its verdict and its score."
      actions={<VerdictCounts trials={trials} />}
    >
      {trials.length === 0 ? (
        <Message title="No trial has been recorded yet." />
      ) : (
        <>
          <Tools {...props} onJump={jump} />
          <section
            ref={box}
            className={classes.tableScroll}
            data-scrolls
            data-folded={folded || undefined}
            aria-label="Table of trials"
            onScroll={drawn.onScroll}
          >
            <Table stickyHeader verticalSpacing={6} fz="sm" aria-rowcount={rows.length + 1}>
              <Head table={table} />
              <Table.Tbody>
                <Spacer height={drawn.above} />
                {rows.slice(drawn.first, drawn.end).map((row, place) => (
                  <TrialRow
                    key={row.id}
                    row={row}
                    columns={columns}
                    place={drawn.first + place + 2}
                    chosen={chosen.includes(row.original.number)}
                    folded={folded}
                    onChoose={onChoose}
                  />
                ))}
                <Spacer height={drawn.below} />
              </Table.Tbody>
            </Table>
          </section>
        </>
      )}
    </Panel>
  );
});

/** Stands for the rows that are not drawn. */
function Spacer({ height }: { height: number }) {
  return height > 0 ? (
    <tr className={classes.spacer} aria-hidden>
      <td style={{ height }} />
    </tr>
  ) : null;
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
  const { run, trials, kept, filter, filterError, onFilter, onJump } = props;
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
          leftSection={<span className={classes.shown}>Jump to</span>}
          leftSectionWidth={62}
          hideControls
          allowDecimal={false}
          min={1}
          value={wanted}
          error={missing !== null && `Trial ${missing} is not in the table.`}
          onChange={setWanted}
        />
      </form>
      <span className={classes.shown}>
        <CsvLinks runId={run.id} />
      </span>
    </div>
  );
}

type AnyColumn = Column<TrialSummary, unknown>;
type TrialTable = ReactTable<TrialSummary>;

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
