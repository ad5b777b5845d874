// Values over time, the newest at the right edge. Redrawn without animation, and only while it is to be seen; what
// follows the pointer lies over it (`TimeOverlay`), and the values at the cursor stand in the legend.

import type { ChartData, ChartOptions } from 'chart.js';
import { memo, useMemo, useRef } from 'react';
import { Line } from 'react-chartjs-2';
import { useOnScreen } from '../browser/useOnScreen';
import type { Point } from '../maths/decimate';
import { byteTicks, formatSecondsAgo, logTicks, shortTickText, timeTicks } from '../maths/ticks';
import type { Mark } from '../samples/sampleStore';
import { ChartFigure } from './ChartFigure';
import { type ChartTheme, seriesColour, seriesDash, useChartTheme } from './chartTheme';
import { isLonely, latestValue, piledUp } from './series';
import classes from './TimeChart.module.css';
import { TimeOverlay } from './TimeOverlay';
import { useCursor, valueAt } from './timeCursor';
import { marksToDraw, timeMarks } from './timeMarks';
import { PLOT } from './timePlot';
import type { Points, TimeView } from './timeView';
import { useHeld } from './useHeld';

export interface TimeSeries {
  label: string;
  /** Its name in the store. */
  column: string;
  /** Left out while it has no value. */
  optional?: boolean;
}

interface TimeChartProps {
  /** What is shown, for the text alternative. */
  label: string;
  /** Which part of which rows; the chart keeps the last one while it is not to be seen. */
  view: TimeView<Points>;
  /** The same array while nothing else is to be shown. */
  series: readonly TimeSeries[];
  format: (value: number) => string;
  /** Areas on top of each other instead of lines. */
  stacked?: boolean;
  /** The first two series are the edges of an interval, which is filled. */
  band?: boolean;
  /** Upper end of the axis; by the data when left out. */
  max?: number;
  /** The values are bytes: marks are powers of two apart. */
  bytes?: boolean;
  /** Each ten times the one before takes as much room: for values that are far apart. */
  logarithmic?: boolean;
  height?: number;
  /** Said in place of the chart while there is no value in the window. */
  empty?: string;
}

interface Drawn {
  label: string;
  points: Point[];
}

const PLUGINS = [timeMarks];
const LONELY_PX = 1.75;
/** The room that the text of a time takes. */
const TIME_PX = 52;
const MOST_STEPS = 6;
/** Of the colour of an interval: two hexadecimal digits. */
const BAND_ALPHA = '33';

const hasValue = ({ points }: Drawn): boolean => points.some(({ y }) => !Number.isNaN(y));

export function TimeChart({ view, ...look }: TimeChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const held = useHeld(view, useOnScreen(box));
  return (
    <div ref={box}>
      <Shown {...look} view={held} />
    </div>
  );
}

const Shown = memo(function Shown(props: TimeChartProps) {
  const { label, view, format, stacked = false, height = 180, max, empty } = props;
  const { bytes = false, logarithmic = false, band = false } = props;
  const { window, past = false, formatTime = formatSecondsAgo } = view;
  const theme = useChartTheme();
  const series = useMemo(
    () =>
      props.series
        .map(({ column, ...one }) => ({ ...one, points: view.store.points(column, view.now, view.window) }))
        .filter((one) => !one.optional || hasValue(one)),
    [props.series, view],
  );
  const options = useMemo(
    () => chartOptions({ theme, windowSeconds: window, max, bytes, logarithmic, format, formatTime }),
    [theme, window, max, bytes, logarithmic, format, formatTime],
  );
  const data = useMemo(
    () => chartData(series, view.marks, theme, { stacked, band }),
    [series, view.marks, theme, stacked, band],
  );
  if (empty && !series.some(hasValue)) {
    return (
      <p className={classes.empty} style={{ minHeight: height }}>
        {empty}
      </p>
    );
  }
  const shown = series.map((one) => ({ label: one.label, value: format(latestValue(one.points, past)) }));
  return (
    <ChartFigure
      label={`${label}. Now: ${shown.map((one) => `${one.label} ${one.value}`).join(', ')}.`}
      name={label}
      legend={shown.map((one, index) => ({
        label: one.label,
        value: (
          <ValueAt points={series[index]?.points ?? []} view={view} format={format} otherwise={one.value} />
        ),
      }))}
      legendShape={stacked ? 'area' : 'line'}
      height={height}
      table={() => ({
        columns: ['Time', ...series.map((one) => one.label)],
        rows: tableRows(series, format, formatTime),
      })}
    >
      {(described) => (
        <>
          <Line aria-label={described} data={data} options={options} plugins={PLUGINS} updateMode="none" />
          <TimeOverlay view={view} />
        </>
      )}
    </ChartFigure>
  );
});

interface ValueAtProps {
  points: readonly Point[];
  view: TimeView<Points>;
  format: (value: number) => string;
  /** What stands there while there is no cursor. */
  otherwise: string;
}

/** The value of a series at the cursor. */
function ValueAt({ points, view, format, otherwise }: ValueAtProps) {
  const x = useCursor();
  return <>{x === null ? otherwise : format(valueAt(points, x, view.window))}</>;
}

/** The radius of each point, in pixels: between two gaps there is no line to see. */
const lonely = (points: readonly Point[]): number[] =>
  points.map((_, index) => (isLonely(points, index) ? LONELY_PX : 0));

function chartData(
  series: readonly Drawn[],
  marks: readonly Mark[],
  theme: ChartTheme,
  { stacked, band }: { stacked: boolean; band: boolean },
): ChartData<'line', Point[]> {
  const points = series.map((one) => one.points);
  const lines = stacked ? piledUp(points) : points;
  return {
    datasets: series.map(({ label }, index) => ({
      label,
      ...(index === 0 ? { timeMarks: marksToDraw(marks, theme) } : {}),
      data: lines[index] ?? [],
      borderColor: seriesColour(theme, index),
      backgroundColor: stacked
        ? seriesColour(theme, index)
        : band
          ? theme.dimmed + BAND_ALPHA
          : 'transparent',
      borderDash: stacked ? [] : seriesDash(index),
      borderWidth: stacked ? 0 : 1.75,
      pointRadius: lonely(points[index] ?? []),
      pointHitRadius: 6,
      fill: stacked ? (index === 0 ? 'origin' : '-1') : band && index === 1 ? '-1' : false,
    })),
  };
}

/** Newest first: the newest is what one looks for. */
function tableRows(
  series: readonly Drawn[],
  format: (value: number) => string,
  formatTime: (seconds: number) => string,
): string[][] {
  const times = series[0]?.points.map(({ x }) => x) ?? [];
  return times
    .map((x, index) => [formatTime(x), ...series.map(({ points }) => format(points[index]?.y ?? Number.NaN))])
    .reverse();
}

interface Look {
  theme: ChartTheme;
  windowSeconds: number;
  max: number | undefined;
  bytes: boolean;
  logarithmic: boolean;
  format: (value: number) => string;
  formatTime: (seconds: number) => string;
}

function chartOptions(look: Look): ChartOptions<'line'> {
  const { theme, windowSeconds, max, bytes, logarithmic, format, formatTime } = look;
  return {
    parsing: false,
    normalized: true,
    // The cursor tells more than a tooltip would, and hides nothing.
    events: [],
    layout: { padding: { top: PLOT.top, right: PLOT.right } },
    scales: {
      x: {
        type: 'linear',
        min: -windowSeconds,
        max: 0,
        grid: { color: theme.grid },
        border: { color: theme.grid },
        afterFit: (axis) => {
          axis.height = PLOT.bottom;
        },
        afterBuildTicks: (axis) => {
          const room = Math.floor((axis.chart.width - PLOT.left - PLOT.right) / TIME_PX);
          const most = Math.min(MOST_STEPS, Math.max(1, room));
          axis.ticks = timeTicks(windowSeconds, most).map((value) => ({ value }));
        },
        ticks: {
          color: theme.dimmed,
          maxRotation: 0,
          autoSkip: false,
          callback: (value) => formatTime(Number(value)),
        },
      },
      y: {
        ...(logarithmic ? { type: 'logarithmic' as const } : { type: 'linear' as const, beginAtZero: true }),
        ...(max === undefined ? {} : { max }),
        grid: { color: theme.grid },
        border: { display: false },
        afterBuildTicks: (axis) => {
          if (bytes) axis.ticks = byteTicks(axis.max).map((value) => ({ value }));
          if (logarithmic) axis.ticks = logTicks(axis.min, axis.max).map((value) => ({ value }));
        },
        afterFit: (axis) => {
          axis.width = PLOT.left;
        },
        ticks: {
          color: theme.dimmed,
          maxTicksLimit: 5,
          autoSkip: false,
          maxRotation: 0,
          callback: (value) => shortTickText(format(Number(value))),
        },
      },
    },
  };
}
