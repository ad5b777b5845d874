// Curves over a common x, each with its own colour, dash and point, so that they differ without colour.

import type { ChartData, ChartOptions } from 'chart.js';
import { Line } from 'react-chartjs-2';
import type { Point } from '../maths/decimate';
import { tickText } from '../maths/ticks';
import { ChartFigure } from './ChartFigure';
import { seriesColour, seriesDash, useChartTheme } from './chartTheme';

export interface Curve {
  label: string;
  points: Point[];
  /** Place in the palette, so that a curve keeps its looks when others come and go. */
  style: number;
  /** Points alone, without a line through them. */
  scattered?: boolean;
}

interface CurveChartProps {
  label: string;
  xName: string;
  curves: readonly Curve[];
  formatX: (x: number) => string;
  formatY: (y: number) => string;
  height: number;
  /** Whether the y axis begins where the values do, and not at zero. */
  fitted?: boolean;
  /** Values over several powers of ten; zeros and negative values are not shown. */
  logarithmic?: boolean;
  /** The places of the x axis that get a label; chosen by the chart when left out. */
  xTicks?: readonly number[];
  /** A bound across the chart, with its name. */
  threshold?: { label: string; value: number };
  /** What stands before "at most" in the text alternative; the highest value when left out. */
  summary?: string;
}

const POINTS = ['circle', 'rectRot', 'triangle', 'rect'] as const;

export function CurveChart(props: CurveChartProps) {
  const { label, xName, curves, formatX, formatY, height, logarithmic = false, xTicks } = props;
  const { threshold, summary, fitted = false } = props;
  const theme = useChartTheme();
  const sorted = curves.map((curve) => ({ ...curve, points: curve.points.toSorted((a, b) => a.x - b.x) }));
  const xs = [...new Set(sorted.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
  const measured = sorted.map(({ label: name, points, style, scattered = false }) => ({
    label: name,
    data: points,
    showLine: !scattered,
    borderColor: seriesColour(theme, style),
    backgroundColor: theme.surface,
    borderDash: seriesDash(style),
    borderWidth: 2,
    pointStyle: POINTS[style % POINTS.length],
    pointRadius: 4,
    pointBorderWidth: 2,
  }));
  const bound = threshold && {
    label: threshold.label,
    data: xs.map((x) => ({ x, y: threshold.value })),
    borderColor: theme.dimmed,
    borderDash: [3, 4],
    borderWidth: 1.5,
    pointRadius: 0,
  };
  const data: ChartData<'line', Point[]> = { datasets: bound ? [...measured, bound] : measured };
  const options: ChartOptions<'line'> = {
    parsing: false,
    interaction: { mode: 'nearest', axis: 'x', intersect: false },
    plugins: {
      tooltip: {
        callbacks: {
          title: ([first]) => formatX(first?.parsed.x ?? 0),
          label: ({ dataset, parsed }) => `${dataset.label}: ${formatY(parsed.y ?? Number.NaN)}`,
        },
      },
    },
    scales: {
      x: {
        type: 'linear',
        grid: { color: theme.grid },
        afterBuildTicks: (axis) => {
          if (xTicks) axis.ticks = xTicks.map((value) => ({ value }));
        },
        ticks: {
          color: theme.dimmed,
          maxTicksLimit: 5,
          maxRotation: 0,
          autoSkipPadding: 16,
          callback: (value) => tickText(formatX(Number(value))),
        },
      },
      y: {
        type: logarithmic ? 'logarithmic' : 'linear',
        beginAtZero: !logarithmic && !fitted,
        border: { display: false },
        grid: { color: theme.grid },
        ticks: {
          color: theme.dimmed,
          maxTicksLimit: 6,
          callback: (value) => tickText(formatY(Number(value))),
        },
      },
    },
  };
  const peaks = sorted.map(
    ({ label: name, points }) => `${name} at most ${formatY(Math.max(...points.map(({ y }) => y)))}`,
  );
  return (
    <ChartFigure
      label={`${label}: ${summary ?? peaks.join(', ')}${threshold ? `; ${threshold.label}` : ''}.`}
      legend={sorted.map(({ label: name, style, scattered }) => ({
        label: name,
        colour: style,
        point: scattered,
      }))}
      height={height}
      table={() => ({
        columns: [xName, ...sorted.map((curve) => curve.label)],
        rows: xs.map((x) => [
          formatX(x),
          ...sorted.map(({ points }) => formatY(points.find((point) => point.x === x)?.y ?? Number.NaN)),
        ]),
      })}
    >
      {(described) => <Line aria-label={described} data={data} options={options} updateMode="none" />}
    </ChartFigure>
  );
}
