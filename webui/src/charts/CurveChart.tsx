// Curves over a common x, each with its own colour, dash and point, so that they differ without colour. What is told
// in another unit of the same x lies below them on an axis of its own.

import type { Chart, ChartData, ChartOptions, Plugin, Scale } from 'chart.js';
import { Line } from 'react-chartjs-2';
import type { Point } from '../maths/decimate';
import { marksApart, tickText } from '../maths/ticks';
import { ChartFigure } from './ChartFigure';
import { type ChartTheme, seriesColour, seriesDash, useChartTheme } from './chartTheme';

export interface CurvePoint extends Point {
  /** Drawn as a cross, for what the chart's `crossed` says. */
  crossed?: boolean;
}

export interface Curve {
  label: string;
  points: CurvePoint[];
  /** Place in the palette, so that a curve keeps its looks when others come and go. */
  style: number;
  /** `points`: alone, without a line through them; `steps`: each value holds until the next. */
  shape?: 'points' | 'steps';
}

/** A place on the x axis, with its name: an upright line. */
export interface Mark {
  label: string;
  value: number;
  /** Place in the palette of what it belongs to; that of the text when left out. */
  style?: number;
}

interface LowerCurves {
  /** What they show. */
  name: string;
  curves: readonly Curve[];
  formatY: (y: number) => string;
}

interface CurveChartProps {
  label: string;
  xName: string;
  curves: readonly Curve[];
  formatX: (x: number) => string;
  formatY: (y: number) => string;
  height: number;
  /** What the curves show, where there are others below. */
  yName?: string;
  /** On a logarithmic axis below the others, over the same x. */
  lower?: LowerCurves | undefined;
  /** Whether the y axis begins where the values do, and not at zero. */
  fitted?: boolean;
  /** Values over several powers of ten; zeros and negative values are not shown. */
  logarithmic?: boolean;
  /** Whether what is between the whole numbers of the x axis means nothing. */
  wholeX?: boolean;
  /** The places of the x axis that get a label; chosen by the chart when left out. */
  xTicks?: readonly number[];
  /** A bound across the chart, with its name. */
  threshold?: { label: string; value: number };
  marks?: readonly Mark[];
  /** What a cross in place of a point means. */
  crossed?: string;
  /** What stands before "at most" in the text alternative; the highest value when left out. */
  summary?: string;
}

const POINT_PX = 4;
const CROSS_PX = 7;
const POINTS = ['circle', 'rectRot', 'triangle', 'rect'] as const;
const MARK_DASH = [3, 4];
/** The chart takes an axis for one of y by the first letter of its name. */
const LOWER = 'yLower';
const NARROW_PX = 400;
/** What the axis of y takes of a chart's width, or so. */
const Y_AXIS_PX = 80;
const SHARE_ABOVE = 3;
const SHARE_BELOW = 2;

interface DrawnMark {
  value: number;
  colour: string;
}

/** The lines of the marks, which the first series of the chart brings along; over all of its height. */
const uprights: Plugin<'line'> = {
  id: 'uprights',
  afterDatasetsDraw(chart) {
    const { marks = [] } = (chart.data.datasets[0] ?? {}) as { marks?: readonly DrawnMark[] };
    const { ctx: context, chartArea } = chart;
    const across = chart.scales.x;
    if (across === undefined) return;
    context.save();
    context.lineWidth = 1.5;
    context.setLineDash(MARK_DASH);
    for (const { value, colour } of marks) {
      const x = across.getPixelForValue(value);
      context.strokeStyle = colour;
      context.beginPath();
      context.moveTo(x, chartArea.top);
      context.lineTo(x, chartArea.bottom);
      context.stroke();
    }
    context.restore();
  },
};
const PLUGINS = [uprights];

const ascending = (curve: Curve): Curve => ({
  ...curve,
  points: curve.points.toSorted((a, b) => a.x - b.x),
});

export function CurveChart(props: CurveChartProps) {
  const { label, xName, formatX, formatY, height, lower, threshold, crossed, summary, marks = [] } = props;
  const theme = useChartTheme();
  const upper = props.curves.map(ascending);
  const below = lower?.curves.map(ascending) ?? [];
  const all = [...upper, ...below];
  const xs = [...new Set(all.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
  const bound = threshold && {
    label: threshold.label,
    yAxisID: 'y',
    data: xs.map((x) => ({ x, y: threshold.value })),
    borderColor: theme.dimmed,
    borderDash: MARK_DASH,
    borderWidth: 1.5,
    pointRadius: 0,
  };
  const drawn: DrawnMark[] = marks.map(({ value, style }) => ({
    value,
    colour: style === undefined ? theme.text : seriesColour(theme, style),
  }));
  const data: ChartData<'line', Point[]> = {
    datasets: [
      ...upper.map((curve, index) => ({ ...dataset(theme, curve), ...(index === 0 && { marks: drawn }) })),
      ...below.map((curve) => ({ ...dataset(theme, curve), yAxisID: LOWER })),
      ...(bound ? [bound] : []),
    ],
  };
  const hasCrosses = all.some(({ points }) => points.some((point) => point.crossed));
  const highest = (curves: readonly Curve[], format: (y: number) => string, what = '') =>
    curves.map(
      ({ label: name, points }) => `${name}${what} at most ${format(Math.max(...points.map(({ y }) => y)))}`,
    );
  const peaks = [
    ...highest(upper, formatY),
    ...(lower ? highest(below, lower.formatY, ` in ${lower.name}`) : []),
  ];
  const told = [summary ?? peaks.join(', '), threshold?.label, ...marks.map((mark) => mark.label)];
  const cellText = (point: CurvePoint | undefined, format: (y: number) => string) =>
    format(point?.y ?? Number.NaN) + (point?.crossed ? `, ${crossed}` : '');
  return (
    <ChartFigure
      label={`${label}: ${told.filter(Boolean).join('; ')}.`}
      legend={[
        ...upper.map(({ label: name, style, shape }) => ({
          label: name,
          colour: style,
          point: shape === 'points',
        })),
        ...(hasCrosses && crossed ? [{ label: crossed, sign: 'cross' as const }] : []),
        ...marks.map((mark) => ({ label: mark.label, sign: 'upright' as const, colour: mark.style })),
      ]}
      height={height}
      table={() => ({
        columns: [
          xName,
          ...upper.map((curve) => curve.label),
          ...below.map((curve) => `${curve.label}, ${lower?.name}`),
        ],
        rows: xs.map((x) => [
          formatX(x),
          ...upper.map(({ points }) => cellText(pointAt(points, x), formatY)),
          ...below.map(({ points }) => cellText(pointAt(points, x), lower?.formatY ?? String)),
        ]),
      })}
    >
      {(described) => (
        <Line
          aria-label={described}
          data={data}
          options={options(theme, props)}
          plugins={PLUGINS}
          updateMode="none"
        />
      )}
    </ChartFigure>
  );
}

/** The last one there: a value that holds until the next has a step there. */
const pointAt = (points: readonly CurvePoint[], x: number) => points.findLast((point) => point.x === x);

function dataset(theme: ChartTheme, { label, points, style, shape }: Curve) {
  return {
    label,
    yAxisID: 'y',
    data: points,
    showLine: shape !== 'points',
    stepped: shape === 'steps',
    borderColor: seriesColour(theme, style),
    backgroundColor: theme.surface,
    borderDash: seriesDash(style),
    borderWidth: 2,
    pointStyle: points.map((point) => (point.crossed ? 'crossRot' : POINTS[style % POINTS.length])),
    pointRadius: points.map((point) => (point.crossed ? CROSS_PX : shape === 'steps' ? 0 : POINT_PX)),
    pointBorderWidth: 2,
  };
}

/** On a narrow screen a title would lie over its ticks: the labels with their units say it there. */
const titled = (name: string | undefined): boolean =>
  // Chart.js asks a function here too, although its types do not say so.
  (({ chart }: { chart: Chart }) => name !== undefined && chart.width >= NARROW_PX) as unknown as boolean;

/** Chart.js shares the room for axes out among all of them, also where they lie above each other: labels are cut off. */
const inOneColumn = (scale: Scale): void => {
  scale.maxWidth *= 2;
};

function options(theme: ChartTheme, props: CurveChartProps): ChartOptions<'line'> {
  const { formatX, formatY, lower, logarithmic = false, fitted = false, yName, marks = [] } = props;
  const { wholeX = false, xTicks } = props;
  const axis = (format: (y: number) => string, isLogarithmic: boolean, name: string | undefined) => ({
    type: isLogarithmic ? ('logarithmic' as const) : ('linear' as const),
    border: { display: false },
    grid: { color: theme.grid },
    title: { display: titled(name), text: name ?? '', color: theme.dimmed },
    ticks: {
      color: theme.dimmed,
      maxTicksLimit: 6,
      // Of two axes above each other, the lowest label of the upper would lie on the highest of the lower.
      callback: (value: string | number) =>
        lower && format === formatY && Number(value) === 0 ? '' : tickText(format(Number(value))),
    },
  });
  const formatOf = (axisId: string | undefined) => (axisId === LOWER && lower ? lower.formatY : formatY);
  return {
    parsing: false,
    interaction: { mode: 'nearest', axis: 'x', intersect: false },
    plugins: {
      tooltip: {
        callbacks: {
          title: ([first]) => formatX(first?.parsed.x ?? 0),
          label: ({ dataset: { label, yAxisID }, parsed }) =>
            `${label}: ${formatOf(yAxisID)(parsed.y ?? Number.NaN)}`,
        },
      },
    },
    scales: {
      x: {
        type: 'linear',
        ...(marks.length > 0 ? { suggestedMax: Math.max(...marks.map(({ value }) => value)) } : {}),
        grid: { color: theme.grid },
        afterBuildTicks: (scale) => {
          if (!xTicks) return;
          const { min: low, max: high, chart } = scale;
          const on = { low, high, lengthPx: chart.width - Y_AXIS_PX };
          scale.ticks = marksApart(xTicks, (x) => tickText(formatX(x)), on).map((value) => ({ value }));
        },
        ticks: {
          color: theme.dimmed,
          maxTicksLimit: 5,
          ...(wholeX ? { precision: 0 } : {}),
          maxRotation: 0,
          autoSkipPadding: 16,
          callback: (value) => tickText(formatX(Number(value))),
        },
      },
      // Of axes in one stack the last is drawn on top.
      ...(lower && {
        [LOWER]: {
          ...axis(lower.formatY, true, lower.name),
          stack: 'curves',
          stackWeight: SHARE_BELOW,
          beforeFit: inOneColumn,
        },
      }),
      y: {
        ...axis(formatY, logarithmic, yName),
        beginAtZero: !logarithmic && !fitted,
        ...(lower && {
          stack: 'curves',
          stackWeight: SHARE_ABOVE,
          offset: false,
          beforeFit: inOneColumn,
        }),
      },
    },
  };
}
