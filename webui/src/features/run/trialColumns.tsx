// The columns of the table of trials. Its rows come and go as it scrolls, so their cells are plain elements.

import { Link } from '@tanstack/react-router';
import { type Column, createColumnHelper } from '@tanstack/react-table';
import type { TrialSummary } from '../../api/generated';
import { VerdictMark } from '../../components/RunState';
import { formatCount, formatDuration, formatGain, formatMbps } from '../../maths/format';
import type { Configuration } from '../../maths/heatMapGrid';
import { changedKnobs, describeConfiguration } from '../../maths/knobDiff';
import { plainName } from '../../maths/plainNames';
import { formatSecond } from '../../maths/secondObjective';
import { gainOfTrial } from './keyTrials';
import classes from './Trials.module.css';

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
    column.display({
      id: 'tried',
      header: 'What was tried',
      cell: ({ row: { original } }) => {
        const tried = triedText(knobs, standard, original.configuration);
        const told = original.verdict === 'verified' ? tried : `${tried} · ${original.reason}`;
        return (
          <span className={classes.tried} title={told}>
            {told}
          </span>
        );
      },
    }),
  ];
}

/** What of the knobs is not as in the default, or that it is the default. */
function triedText(knobs: readonly string[], standard: Configuration, tried: Configuration): string {
  const changes = changedKnobs(standard, tried).filter(({ knob }) => knobs.includes(knob));
  return (
    describeConfiguration(Object.fromEntries(changes.map(({ knob, to }) => [knob, to]))) || 'the default'
  );
}

/**
 * Which columns are not shown: as rows, what was tried in one text; folded, what that text tells or what can
 * wait. The table can be sorted by these too.
 */
export const hiddenColumns = (knobs: readonly string[], folded: boolean): Record<string, boolean> =>
  Object.fromEntries(
    (folded ? [...knobs, 'purpose', 'second', 'took', 'reason'] : ['tried']).map((id) => [id, false]),
  );

export const isRight = ({ columnDef }: Column<TrialSummary, unknown>): boolean =>
  Boolean((columnDef.meta as { right?: boolean } | undefined)?.right);
