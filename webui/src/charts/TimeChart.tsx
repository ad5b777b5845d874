// Values over time, the newest at the right edge. Redrawn without animation, and only while it is to be seen.

import type { ChartData, ChartOptions } from 'chart.js';
import { useMemo, useRef } from 'react';
import { Line } from 'react-chartjs-2';
import { useOnScreen } from '../hooks/useOnScreen';
import type { Mark } from '../live/liveStore';
import type { Point } from '../maths/decimate';
import { byteTicks, formatSecondsAgo, tickText, timeTicks } from '../maths/ticks';
import { ChartFigure } from './ChartFigure';
import { type ChartTheme, seriesColour, seriesDash, useChartTheme } from './chartTheme';
import classes from './TimeChart.module.css';
import { marksToDraw, timeMarks } from './timeMarks';

export interface TimeSeries {
  label: string;
  points: Point[];
}

interface TimeChartProps {
  /** What is shown, for the text alternative. */
  label: string;
  series: readonly TimeSeries[];
  windowSeconds: number;
  format: (value: number) => string;
  /** What a place on the time axis is called; seconds before now when left out. */
  formatTime?: (seconds: number) => string;
  /** Where trials and rates begin. */
  marks?: readonly Mark[];
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

const NO_MARKS: readonly Mark[] = [];
const PLUGINS = [timeMarks];

const latest = (points: readonly Point[]): number =>
  points.findLast(({ y }) => !Number.isNaN(y))?.y ?? Number.NaN;

/** The value while `live`, and the last one of that time while not. */
function useHeld<T>(value: T, live: boolean): T {
  const held = useRef(value);
  if (live) held.current = value;
  return held.current;
}

export function TimeChart(props: TimeChartProps) {
  const {
    label,
    windowSeconds,
    format,
    formatTime = formatSecondsAgo,
    stacked = false,
    height = 180,
  } = props;
  const { max, bytes = false, empty } = props;
  const box = useRef<HTMLDivElement>(null);
  const theme = useChartTheme();
  const { series, marks } = useHeld(
    { series: props.series, marks: props.marks ?? NO_MARKS },
    useOnScreen(box),
  );
  const options = useMemo(
    () => chartOptions({ theme, windowSeconds, stacked, max, bytes, format, formatTime }),
    [theme, windowSeconds, stacked, max, bytes, format, formatTime],
  );
  const data = useMemo(() => chartData(series, marks, theme, stacked), [series, marks, theme, stacked]);
  if (empty && !series.some(({ points }) => points.some(({ y }) => !Number.isNaN(y)))) {
    return (
      <div ref={box}>
        <p className={classes.empty} style={{ minHeight: height }}>
          {empty}
        </p>
      </div>
    );
  }
  const shown = series.map((one) => ({ label: one.label, value: format(latest(one.points)) }));
  return (
    <div ref={box}>
      <ChartFigure
        label={`${label}. Now: ${shown.map((one) => `${one.label} ${one.value}`).join(', ')}.`}
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
    </div>
  );
}

function chartData(
  series: readonly TimeSeries[],
  marks: readonly Mark[],
  theme: ChartTheme,
  stacked: boolean,
): ChartData<'line', Point[]> {
  return {
    datasets: series.map(({ label, points }, index) => ({
      label,
      timeMarks: marksToDraw(marks, theme),
      data: points,
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
  series: readonly TimeSeries[],
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
  stacked: boolean;
  max: number | undefined;
  bytes: boolean;
  format: (value: number) => string;
  formatTime: (seconds: number) => string;
}

function chartOptions(look: Look): ChartOptions<'line'> {
  const { theme, windowSeconds, stacked, max, bytes, format, formatTime } = look;
  return {
    parsing: false,
    normalized: true,
    interaction: { mode: 'index', intersect: false },
    plugins: {
      tooltip: {
        callbacks: {
          title: ([first]) => formatTime(first?.parsed.x ?? 0),
          label: ({ dataset, parsed }) => `${dataset.label}: ${format(parsed.y ?? Number.NaN)}`,
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
        ticks: { color: theme.dimmed, maxRotation: 0, callback: (value) => formatTime(Number(value)) },
      },
      y: {
        type: 'linear',
        stacked,
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
          callback: (value) => tickText(format(Number(value))),
        },
      },
    },
  };
}
