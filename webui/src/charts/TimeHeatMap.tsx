// Many series over time as one picture: a row each, brighter the higher its value. It has the time axis, the cursor and
// the zoom of the charts beside it.

import { type CSSProperties, memo, type RefObject, useEffect, useMemo, useRef } from 'react';
import { useOnScreen } from '../browser/useOnScreen';
import { cssColour, sequentialColour } from '../maths/colourScale';
import { samplesPerPoint } from '../maths/decimate';
import { formatSecondsAgo, timeTicks } from '../maths/ticks';
import { MAX_POINTS } from '../samples/sampleStore';
import { ChartFigure } from './ChartFigure';
import classes from './TimeHeatMap.module.css';
import { TimeOverlay } from './TimeOverlay';
import { type CellRow, rowSummary, type TimeCells, timeCells } from './timeCells';
import { PLOT_VARIABLES } from './timePlot';
import type { TimeView } from './timeView';
import { useHeld } from './useHeld';

interface TimeHeatMapProps {
  /** What is shown, for the text alternative. */
  label: string;
  view: TimeView;
  /** The same array while nothing else is to be shown. */
  rows: readonly CellRow[];
  /** The value of the brightest colour; the darkest is 0. */
  max: number;
  format: (value: number) => string;
}

const ROW_PX = 14;
const LEAST_PX = 160;
/** So high it gets before rows become lower than `ROW_PX`; each keeps a pixel at least. */
const USUAL_PX = 512;
const AXIS_PX = 24;
const LABEL_PX = 16;

export function TimeHeatMap({ view, ...look }: TimeHeatMapProps) {
  const box = useRef<HTMLDivElement>(null);
  const held = useHeld(view, useOnScreen(box));
  return (
    <div ref={box}>
      <Shown {...look} view={held} />
    </div>
  );
}

const Shown = memo(function Shown({ label, view, rows, max, format }: TimeHeatMapProps) {
  const step = samplesPerPoint(view.window, 1, MAX_POINTS);
  const cells = useMemo(() => timeCells(view.store, rows, view, step), [view, rows, step]);
  const summaries = useMemo(() => rows.map((_, row) => rowSummary(cells, row)), [rows, cells]);
  const known = summaries.filter(({ now }) => !Number.isNaN(now));
  const mean = known.reduce((sum, { now }) => sum + now, 0) / known.length;
  const fullest = summaries.reduce(
    (best, { now }, row) => (now > (summaries[best]?.now || 0) ? row : best),
    0,
  );
  const plot = Math.max(rows.length, LEAST_PX, Math.min(USUAL_PX, rows.length * ROW_PX));
  return (
    <ChartFigure
      label={`${label}. Now: mean ${format(mean)}, highest ${rows[fullest]?.name} with ${format(summaries[fullest]?.now ?? Number.NaN)}.`}
      name={label}
      legend={[{ label: 'mean now', value: format(mean), sign: 'none' }]}
      height={plot + AXIS_PX}
      table={() => ({
        columns: ['', 'Now', 'Mean', 'Highest'],
        rows: rows.map(({ name }, row) => {
          const { now, mean: own, max: most } = summaries[row] ?? rowSummary(cells, row);
          return [name, format(now), format(own), format(most)];
        }),
      })}
    >
      {(described) => (
        <div className={classes.map} style={PLOT_VARIABLES as CSSProperties}>
          <Picture cells={cells} rows={rows.length} max={max} label={described} />
          <Names rows={rows} height={plot} />
          <Times view={view} />
          <TimeOverlay view={view} />
        </div>
      )}
    </ChartFigure>
  );
});

interface PictureProps {
  cells: TimeCells;
  rows: number;
  max: number;
  label: string;
}

/** A pixel for each cell, which the style sheet makes as large as the plot. */
function Picture({ cells, rows, max, label }: PictureProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  usePainted(canvas, cells, rows, max);
  return (
    <canvas
      ref={canvas}
      className={classes.picture}
      width={cells.width}
      height={rows}
      role="img"
      aria-label={label}
    />
  );
}

const SHADES = 256;
const shades = Array.from({ length: SHADES }, (_, shade) => sequentialColour(shade / (SHADES - 1)));

function usePainted(
  canvas: RefObject<HTMLCanvasElement | null>,
  { width, values }: TimeCells,
  rows: number,
  max: number,
): void {
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    const image = context.createImageData(width, rows);
    values.forEach((value, cell) => {
      const shade = shades[Math.round(Math.min(1, Math.max(0, value / max)) * (SHADES - 1))];
      // Where there is no sample the picture stays transparent.
      if (shade !== undefined) image.data.set([shade.r, shade.g, shade.b, 255], 4 * cell);
    });
    context.putImageData(image, 0, 0);
  }, [canvas, width, values, rows, max]);
}

/** As many of the rows' names as have room. */
function Names({ rows, height }: { rows: readonly CellRow[]; height: number }) {
  const every = Math.ceil((LABEL_PX * rows.length) / height);
  return (
    <div className={classes.names} aria-hidden>
      {rows.map(({ name }, row) =>
        row % every === 0 ? (
          <span key={name} style={{ top: `${(100 * (row + 0.5)) / rows.length}%` }}>
            {name}
          </span>
        ) : null,
      )}
    </div>
  );
}

function Times({ view: { window, formatTime = formatSecondsAgo } }: { view: TimeView }) {
  return (
    <div className={classes.times} aria-hidden>
      {timeTicks(window).map((x) => (
        <span key={x} style={{ left: `${100 * (1 + x / window)}%` }}>
          {formatTime(x)}
        </span>
      ))}
    </div>
  );
}

/** What the colours stand for. */
export function HeatScale({ from, to }: { from: string; to: string }) {
  const stops = [0, 0.25, 0.5, 0.75, 1].map((at) => cssColour(sequentialColour(at)));
  return (
    <span className={classes.scale}>
      {from}
      <span aria-hidden style={{ background: `linear-gradient(to right, ${stops.join(', ')})` }} />
      {to}
    </span>
  );
}
