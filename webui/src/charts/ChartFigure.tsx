// What surrounds every chart: a sentence for those who cannot see it, a legend, and its numbers as a table.

import { Button } from '@mantine/core';
import { IconChartLine, IconTable } from '@tabler/icons-react';
import { memo, type ReactNode, useCallback, useId, useState } from 'react';
import { useIdleTurn } from '../browser/useIdleTurn';
import classes from './ChartFigure.module.css';
import { seriesColour, seriesDash, useChartTheme } from './chartTheme';

export interface LegendEntry {
  label: string;
  /** The value to show beside the name, such as the latest. */
  value?: ReactNode;
  /** Place in the palette; the place in the legend when left out, and of a sign the colour of text. */
  colour?: number | undefined;
  /** Points without a line. */
  point?: boolean | undefined;
  /** What stands for no series: a crossed point, an upright line, nothing. */
  sign?: 'cross' | 'upright' | 'none';
}

export interface ChartTable {
  columns: readonly string[];
  rows: readonly (readonly string[])[];
}

interface ChartFigureProps {
  /** Says what the chart shows, and its main figures, to those who do not see it. */
  label: string;
  /** What the chart shows, without figures that change; the label when left out. */
  name?: string;
  legend?: readonly LegendEntry[];
  /** `area`: filled swatches; `line`: swatches with the dashes of the line. */
  legendShape?: 'line' | 'area';
  /** Made only when it is asked for. */
  table: () => ChartTable;
  height?: number;
  /** In pixels; as wide as there is room when left out. */
  maxWidth?: number;
  /** The chart; its canvas has the role of an image and takes the label. */
  children: (label: string) => ReactNode;
}

/** A table may be higher than its chart when that shows only a few rows. */
const LOWEST_TABLE_PX = 200;

export function ChartFigure(props: ChartFigureProps) {
  const {
    label,
    name = label,
    legend = [],
    legendShape = 'line',
    table,
    height = 200,
    maxWidth,
    children,
  } = props;
  const [asTable, setAsTable] = useState(false);
  const due = useIdleTurn();
  const toggle = useCallback(() => setAsTable((before) => !before), []);
  const id = useId();
  return (
    <figure className={classes.figure}>
      <div className={classes.top}>
        <ul className={classes.legend}>
          {legend.map((entry, index) => (
            <li key={entry.label} className={classes.entry}>
              {entry.sign !== 'none' && (
                <Swatch
                  index={entry.colour ?? (entry.sign ? undefined : index)}
                  shape={entry.sign ?? (entry.point ? 'point' : legendShape)}
                />
              )}
              <span>{entry.label}</span>
              {entry.value !== undefined && <strong className={classes.latest}>{entry.value}</strong>}
            </li>
          ))}
        </ul>
        <TableToggle asTable={asTable} name={name} controls={id} onToggle={toggle} />
      </div>
      <div
        id={id}
        style={asTable ? { maxHeight: Math.max(height, LOWEST_TABLE_PX) } : { height, maxWidth }}
        className={classes.body}
      >
        {asTable ? (
          <DataTable caption={label} table={table()} />
        ) : (
          <div className={classes.canvas}>{due && children(label)}</div>
        )}
      </div>
    </figure>
  );
}

interface TableToggleProps {
  asTable: boolean;
  name: string;
  controls: string;
  onToggle: () => void;
}

// A chart that moves gets a new label and new values every second; this and the swatches stay as they are.
const TableToggle = memo(function TableToggle({ asTable, name, controls, onToggle }: TableToggleProps) {
  return (
    <Button
      size="compact-xs"
      variant="subtle"
      color="gray"
      className={classes.toggle}
      leftSection={asTable ? <IconChartLine size={14} aria-hidden /> : <IconTable size={14} aria-hidden />}
      aria-expanded={asTable}
      aria-controls={controls}
      onClick={onToggle}
    >
      {asTable ? 'Chart' : 'Table'}
      <span className="visually-hidden"> of {name}</span>
    </Button>
  );
});

interface SwatchProps {
  index: number | undefined;
  shape: 'line' | 'area' | 'point' | 'cross' | 'upright';
}

const Swatch = memo(function Swatch({ index, shape }: SwatchProps) {
  const theme = useChartTheme();
  const colour = index === undefined ? theme.text : seriesColour(theme, index);
  return (
    <svg width="22" height="10" aria-hidden="true">
      {shape === 'area' && <rect x="5" y="0" width="12" height="10" rx="2" fill={colour} />}
      {shape === 'point' && <circle cx="11" cy="5" r="3.5" fill="none" stroke={colour} strokeWidth="2" />}
      {shape === 'cross' && <path d="M7 1l8 8m0-8l-8 8" stroke={colour} strokeWidth="2" />}
      {shape === 'upright' && <path d="M11 0v10" stroke={colour} strokeWidth="2" strokeDasharray="3 2" />}
      {shape === 'line' && (
        <line
          x1="0"
          y1="5"
          x2="22"
          y2="5"
          stroke={colour}
          strokeWidth="2.5"
          strokeDasharray={seriesDash(index ?? 0).join(' ')}
        />
      )}
    </svg>
  );
});

function DataTable({ caption, table }: { caption: string; table: ChartTable }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={classes.scroll} data-scrolls tabIndex={0} aria-label={caption}>
      <table className={classes.table}>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {table.columns.map((column, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have the same name
              <th key={place} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two rows may say the same
            <tr key={place}>
              {row.map((cell, column) =>
                column === 0 ? (
                  // biome-ignore lint/suspicious/noArrayIndexKey: as above
                  <th key={column} scope="row">
                    {cell}
                  </th>
                ) : (
                  // biome-ignore lint/suspicious/noArrayIndexKey: as above
                  <td key={column}>{cell}</td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
