// Curves over a common x, each with its own colour, dash and point, so that they differ without colour.

import type { ChartData, ChartOptions } from 'chart.js';
import { Line } from 'react-chartjs-2';
import type { Point } from '../maths/decimate';
import { tickText } from '../maths/ticks';
import { ChartFigure } from './ChartFigure';
import { seriesColour, seriesDash, useChartTheme } from './chartTheme';

export interface CurvePoint extends Point {
  /** Drawn as a cross, for what the chart's `crossed` says. */
  crossed?: boolean;
}

export interface Curve {
  label: string;
  points: CurvePoint[];
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
  /** A place on the x axis, with its name: an upright line. */
  mark?: { label: string; value: number } | undefined;
  /** What a cross in place of a point means. */
  crossed?: string;
  /** What stands before "at most" in the text alternative; the highest value when left out. */
  summary?: string;
}

const POINT_PX = 4;
const CROSS_PX = 7;
const POINTS = ['circle', 'rectRot', 'triangle', 'rect'] as const;

export function CurveChart(props: CurveChartProps) {
  const { label, xName, curves, formatX, formatY, height, logarithmic = false, xTicks } = props;
  const { threshold, mark, crossed, summary, fitted = false } = props;
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
    pointStyle: points.map((point) => (point.crossed ? 'crossRot' : POINTS[style % POINTS.length])),
    pointRadius: points.map((point) => (point.crossed ? CROSS_PX : POINT_PX)),
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
  const highest = Math.max(0, ...sorted.flatMap(({ points }) => points.map(({ y }) => y)));
  const upright = mark && {
    label: mark.label,
    data: [0, highest].map((y) => ({ x: mark.value, y })),
    borderColor: theme.text,
    borderDash: [3, 4],
    borderWidth: 1.5,
    pointRadius: 0,
    pointHitRadius: 0,
  };
  const data: ChartData<'line', Point[]> = {
    datasets: [...measured, ...(bound ? [bound] : []), ...(upright ? [upright] : [])],
  };
  const hasCrosses = sorted.some(({ points }) => points.some((point) => point.crossed));
  const options: ChartOptions<'line'> = {
    parsing: false,
    interaction: { mode: 'nearest', axis: 'x', intersect: false },
    plugins: {
      tooltip: {
        filter: ({ dataset }) => dataset.label !== mark?.label,
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
  const told = [summary ?? peaks.join(', '), threshold?.label, mark?.label].filter(Boolean);
  const cellText = (point: CurvePoint | undefined) =>
    formatY(point?.y ?? Number.NaN) + (point?.crossed ? `, ${crossed}` : '');
  return (
    <ChartFigure
      label={`${label}: ${told.join('; ')}.`}
      legend={[
        ...sorted.map(({ label: name, style, scattered }) => ({
          label: name,
          colour: style,
          point: scattered,
        })),
        ...(hasCrosses && crossed ? [{ label: crossed, sign: 'cross' as const }] : []),
        ...(mark ? [{ label: mark.label, sign: 'upright' as const }] : []),
      ]}
      height={height}
      table={() => ({
        columns: [xName, ...sorted.map((curve) => curve.label)],
        rows: xs.map((x) => [
          formatX(x),
          ...sorted.map(({ points }) => cellText(points.find((point) => point.x === x))),
        ]),
      })}
    >
      {(described) => <Line aria-label={described} data={data} options={options} updateMode="none" />}
    </ChartFigure>
  );
}
