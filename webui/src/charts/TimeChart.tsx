// Values over the last minutes, "now" at the right edge. Redrawn once a second without animation.

import type { ChartData, ChartOptions } from 'chart.js';
import { useMemo } from 'react';
import { Line } from 'react-chartjs-2';
import type { Point } from '../maths/decimate';
import { byteTicks, formatSecondsAgo, tickText, timeTicks } from '../maths/ticks';
import { ChartFigure } from './ChartFigure';
import { type ChartTheme, seriesColour, seriesDash, useChartTheme } from './chartTheme';
import classes from './TimeChart.module.css';

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

const latest = (points: readonly Point[]): number =>
  points.findLast(({ y }) => !Number.isNaN(y))?.y ?? Number.NaN;

export function TimeChart(props: TimeChartProps) {
  const { label, series, windowSeconds, format, stacked = false, max, bytes = false, height = 180 } = props;
  const theme = useChartTheme();
  const options = useMemo(
    () => chartOptions({ theme, windowSeconds, stacked, max, bytes, format }),
    [theme, windowSeconds, stacked, max, bytes, format],
  );
  const data: ChartData<'line', Point[]> = {
    datasets: series.map(({ label: name, points }, index) => ({
      label: name,
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
  if (props.empty && !series.some(({ points }) => points.some(({ y }) => !Number.isNaN(y)))) {
    return (
      <p className={classes.empty} style={{ minHeight: height }}>
        {props.empty}
      </p>
    );
  }
  const shown = series.map((one) => ({ label: one.label, value: format(latest(one.points)) }));
  return (
    <ChartFigure
      label={`${label}. Now: ${shown.map((one) => `${one.label} ${one.value}`).join(', ')}.`}
      legend={shown}
      legendShape={stacked ? 'area' : 'line'}
      height={height}
      table={() => ({
        columns: ['Time', ...series.map((one) => one.label)],
        rows: tableRows(series, format),
      })}
    >
      {(described) => <Line aria-label={described} data={data} options={options} updateMode="none" />}
    </ChartFigure>
  );
}

/** Newest first: the newest is what one looks for. */
function tableRows(series: readonly TimeSeries[], format: (value: number) => string): string[][] {
  const times = series[0]?.points.map(({ x }) => x) ?? [];
  return times
    .map((x, index) => [
      formatSecondsAgo(x),
      ...series.map(({ points }) => format(points[index]?.y ?? Number.NaN)),
    ])
    .reverse();
}

interface Look {
  theme: ChartTheme;
  windowSeconds: number;
  stacked: boolean;
  max: number | undefined;
  bytes: boolean;
  format: (value: number) => string;
}

function chartOptions({ theme, windowSeconds, stacked, max, bytes, format }: Look): ChartOptions<'line'> {
  return {
    parsing: false,
    normalized: true,
    interaction: { mode: 'index', intersect: false },
    plugins: {
      tooltip: {
        callbacks: {
          title: ([first]) => formatSecondsAgo(first?.parsed.x ?? 0),
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
        ticks: { color: theme.dimmed, maxRotation: 0, callback: (value) => formatSecondsAgo(Number(value)) },
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
