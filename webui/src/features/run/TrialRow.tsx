import type { Cell, Row } from '@tanstack/react-table';
import { memo } from 'react';
import type { TrialSummary } from '../../api/generated';
import classes from './Trials.module.css';
import { isRight } from './trialColumns';

interface TrialRowProps {
  row: Row<TrialSummary>;
  /** Changes when the cells are to be drawn anew though the trial is the same. */
  columns: readonly unknown[];
  /** Place in the table, the head being 1. */
  place: number;
  chosen: boolean;
  /** Whether it has of the columns only some, and below them a text. */
  folded: boolean;
  onChoose: (trial: number) => void;
}

/** What the column makes of the cell: a call and no component, of which there would be a thousand. */
function content(cell: Cell<TrialSummary, unknown>) {
  const draw = cell.column.columnDef.cell;
  return typeof draw === 'function' ? draw(cell.getContext()) : draw;
}

/** A trial of the table; drawn anew only when it, its place or its choice has changed. */
export const TrialRow = memo(
  function TrialRow({ row, place, chosen, folded, onChoose }: TrialRowProps) {
    const { number } = row.original;
    return (
      <tr
        className={classes.row}
        aria-rowindex={place}
        data-chosen={chosen || undefined}
        data-folded={folded || undefined}
      >
        {row.getVisibleCells().map((cell) => (
          <td key={cell.id} data-right={isRight(cell.column) || undefined}>
            {content(cell)}
          </td>
        ))}
        <td className="sticky-end">
          <button
            type="button"
            className={classes.choose}
            aria-pressed={chosen}
            aria-label={`Show the curve of trial ${number}`}
            onClick={() => onChoose(number)}
          >
            Curve
          </button>
        </td>
      </tr>
    );
  },
  (before, after) =>
    before.row.original === after.row.original &&
    before.columns === after.columns &&
    before.place === after.place &&
    before.chosen === after.chosen &&
    before.folded === after.folded &&
    before.onChoose === after.onChoose,
);
