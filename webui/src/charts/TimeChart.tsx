// Values over time, the newest at the right edge. Redrawn without animation, and only while it is to be seen.

import type { ChartData, ChartOptions } from 'chart.js';
import { memo, useMemo, useRef } from 'react';
import { Line } from 'react-chartjs-2';
import { useOnScreen } from '../hooks/useOnScreen';
import type { Mark } from '../live/liveStore';
import type { Point } from '../maths/decimate';
import { byteTicks, formatSecondsAgo, tickText, timeTicks } from '../maths/ticks';
import type { View } from '../panels/view';
import { ChartFigure } from './ChartFigure';
import { type ChartTheme, seriesColour, seriesDash, useChartTheme } from './chartTheme';
import { latestValue, piledUp } from './series';
import classes from './TimeChart.module.css';
import { marksToDraw, timeMarks } from './timeMarks';

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
  view: View;
  /** The same array while nothing else is to be shown. */
  series: readonly TimeSeries[];
  format: (value: number) => string;
  /** Areas on top of each other instead of lines. */
  stacked?: boolean;
  /** Upper end of the axis; by the data when left out. */
  max?: number;
  /** The values are bytes: marks are powers of two apart. */
  bytes?: boolean;
  height?: number;
  /** Said in place of the chart while there is no value in the window. */
  empty?: string;
}

interface Drawn {
  label: string;
  points: Point[];
}

const PLUGINS = [timeMarks];

const hasValue = ({ points }: Drawn): boolean => points.some(({ y }) => !Number.isNaN(y));

/** The value while `live`, and the last one of that time while not. */
function useHeld<T>(value: T, live: boolean): T {
  const held = useRef(value);
  if (live) held.current = value;
  return held.current;
}

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
  const { label, view, format, stacked = false, height = 180, max, bytes = false, empty } = props;
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
    () => chartOptions({ theme, windowSeconds: window, max, bytes, format, formatTime }),
    [theme, window, max, bytes, format, formatTime],
  );
  const data = useMemo(
    () => chartData(series, view.marks, theme, stacked),
    [series, view.marks, theme, stacked],
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
      legend={shown}
      legendShape={stacked ? 'area' : 'line'}
      height={height}
      table={() => ({
        columns: ['Time', ...series.map((one) => one.label)],
        rows: tableRows(series, format, formatTime),
      })}
    >
      {(described) => (
        <Line aria-label={described} data={data} options={options} plugins={PLUGINS} updateMode="none" />
      )}
    </ChartFigure>
  );
});

function chartData(
  series: readonly Drawn[],
  marks: readonly Mark[],
  theme: ChartTheme,
  stacked: boolean,
): ChartData<'line', Point[]> {
  const points = series.map((one) => one.points);
  const lines = stacked ? piledUp(points) : points;
  return {
    datasets: series.map(({ label }, index) => ({
      label,
      ...(index === 0 ? { timeMarks: marksToDraw(marks, theme) } : {}),
      data: lines[index] ?? [],
      /** The series' own values, which the tooltip tells. */
      own: points[index],
      borderColor: seriesColour(theme, index),
      backgroundColor: stacked ? seriesColour(theme, index) : 'transparent',
      borderDash: stacked ? [] : seriesDash(index),
      borderWidth: stacked ? 0 : 1.75,
      pointRadius: 0,
      pointHitRadius: 6,
      fill: stacked ? (index === 0 ? 'origin' : '-1') : false,
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
  format: (value: number) => string;
  formatTime: (seconds: number) => string;
}

function chartOptions(look: Look): ChartOptions<'line'> {
  const { theme, windowSeconds, max, bytes, format, formatTime } = look;
  return {
    parsing: false,
    normalized: true,
    interaction: { mode: 'index', intersect: false },
    plugins: {
      tooltip: {
        callbacks: {
          title: ([first]) => formatTime(first?.parsed.x ?? 0),
          label: ({ dataset, dataIndex }) => {
            const { own } = dataset as { own?: Point[] };
            return `${dataset.label}: ${format(own?.[dataIndex]?.y ?? Number.NaN)}`;
          },
        },
      },
    },
    scales: {
      x: {
        type: 'linear',
        min: -windowSeconds,
        max: 0,
        grid: { color: theme.grid },
        border: { color: theme.grid },
        afterBuildTicks: (axis) => {
          axis.ticks = timeTicks(windowSeconds).map((value) => ({ value }));
        },
        ticks: {
          color: theme.dimmed,
          maxRotation: 0,
          autoSkip: false,
          callback: (value) => formatTime(Number(value)),
        },
      },
      y: {
        type: 'linear',
        beginAtZero: true,
        ...(max === undefined ? {} : { max }),
        grid: { color: theme.grid },
        border: { display: false },
        afterBuildTicks: (axis) => {
          if (bytes) axis.ticks = byteTicks(axis.max).map((value) => ({ value }));
        },
        ticks: {
          color: theme.dimmed,
          maxTicksLimit: 5,
          autoSkip: false,
          maxRotation: 0,
          callback: (value) => tickText(format(Number(value))),
        },
      },
    },
  };
}
