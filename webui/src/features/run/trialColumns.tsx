// The columns of the table of trials. Its rows come and go as it scrolls, so their cells are plain elements.

import { Link } from '@tanstack/react-router';
import { type Column, createColumnHelper } from '@tanstack/react-table';
import type { TrialSummary } from '../../api/generated';
import { VerdictMark } from '../../components/RunState';
import { formatCount, formatDuration, formatGain, formatMbps } from '../../maths/format';
import type { Configuration } from '../../maths/heatMapGrid';
import { plainName } from '../../maths/plainNames';
import { formatSecond } from '../../maths/secondObjective';
import { gainOfTrial } from './keyTrials';
import classes from './Run.module.css';

const column = createColumnHelper<TrialSummary>();
const seconds = (trial: TrialSummary) =>
  (Date.parse(trial.finished_at) - Date.parse(trial.started_at)) / 1000;

export function makeColumns(
  knobs: readonly string[],
  standard: Configuration,
  standardScore: number | null,
  second: string | null,
) {
  return [
    column.accessor('number', {
      header: 'Trial',
      cell: ({ row: { original } }) => (
        <Link
          to="/runs/$id/trials/$number"
          params={{ id: original.run_id, number: original.number }}
          className={classes.number}
          aria-label={`Trial ${original.number}`}
        >
          {original.number}
        </Link>
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
            header: plainName(second),
            sortUndefined: 'last',
            cell: ({ getValue }) => formatSecond(second, getValue()),
            meta: { right: true },
          }),
        ]),
    column.accessor((trial) => gainOfTrial(trial, standard, standardScore) ?? undefined, {
      id: 'gain',
      header: 'Score over default',
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

export const isRight = ({ columnDef }: Column<TrialSummary, unknown>): boolean =>
  Boolean((columnDef.meta as { right?: boolean } | undefined)?.right);
