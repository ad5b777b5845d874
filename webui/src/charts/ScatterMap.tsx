// A map of configurations by two knobs, each a point where it lies. Lighter and larger means a higher score; the
// shape is the value of a third knob. Neither is told by colour alone: the best has its score written beside it, and
// the tooltip and the table have all.

import type { Chart as ChartInstance, ChartOptions, Plugin, Scale } from 'chart.js';
import { useRef } from 'react';
import { Line } from 'react-chartjs-2';
import { cssColour, lineCss, sequentialColour } from '../maths/colourScale';
import { marksApart } from '../maths/ticks';
import { ChartFigure, type ChartTable } from './ChartFigure';
import { type ChartTheme, useChartTheme } from './chartTheme';
import { type Pulsing, usePulse } from './usePulse';

export interface ScatterPoint {
  /** Places on the axes. */
  x: number;
  y: number;
  /** Place in `SHAPES`. */
  shape: number;
  /** 0…1 on the colour scale; null without a score. */
  colour: number | null;
  /** Whether the score is only an estimate: the point is hollow then. */
  estimated: boolean;
  selected: boolean;
  /** What is written beside it, such as the score of the best. */
  text: string;
  /** What the tooltip says, first where it lies. */
  told: readonly string[];
  /** The trial that a click chooses. */
  trial: number;
}

export interface ScatterAxis {
  name: string;
  ticks: readonly number[];
  format: (place: number) => string;
  low: number;
  high: number;
}

interface ScatterMapProps {
  label: string;
  points: readonly ScatterPoint[];
  x: ScatterAxis;
  y: ScatterAxis;
  /** The place being measured now. */
  current: { x: number; y: number } | null;
  table: () => ChartTable;
  onSelect: (trial: number) => void;
}

export const SHAPES = ['circle', 'rect', 'triangle', 'rectRot'] as const;
/** A configuration without a score. */
const NO_SCORE = 'crossRot';
const SMALLEST_PX = 5;
const LARGEST_PX = 9;
const FRAME_PX = 26;
const HEIGHT_PX = 340;
const HALO_PX = 4;
const TEXT_GAP_PX = 14;
/** What the axis of y takes of the map's width, or so. */
const Y_AXIS_PX = 60;
/** Room beside the outermost points, as a share of an axis. */
const ROOM = 0.06;

interface Drawn {
  points: readonly ScatterPoint[];
  current: { x: number; y: number } | null;
  colour: string;
  /** Of what a text lies on: around its letters, where it covers points. */
  halo: string;
}

/** The text beside a point, and the dashed frame of what is being measured. */
const marks: Plugin<'line'> = {
  id: 'scatterMarks',
  afterDatasetsDraw(chart) {
    const { points, current, colour, halo } = chart.data.datasets[0] as unknown as Drawn;
    const { ctx: context, scales } = chart;
    const [x, y] = [scales.x, scales.y];
    if (x === undefined || y === undefined) return;
    context.save();
    context.fillStyle = colour;
    context.strokeStyle = halo;
    context.lineWidth = HALO_PX;
    context.lineJoin = 'round';
    context.font = "600 12px 'Inter Variable', system-ui, sans-serif";
    context.textBaseline = 'middle';
    for (const point of points) {
      if (point.text === '') continue;
      const at = x.getPixelForValue(point.x);
      const right = at < (chart.chartArea.left + chart.chartArea.right) / 2;
      context.textAlign = right ? 'left' : 'right';
      const [left, top] = [at + (right ? TEXT_GAP_PX : -TEXT_GAP_PX), y.getPixelForValue(point.y)];
      context.strokeText(point.text, left, top);
      context.fillText(point.text, left, top);
    }
    if (current !== null) {
      context.globalAlpha = (chart as ChartInstance<'line'> & Pulsing).pulse ?? 1;
      context.strokeStyle = colour;
      context.lineWidth = 3;
      context.setLineDash([5, 3]);
      const [left, top] = [x.getPixelForValue(current.x), y.getPixelForValue(current.y)];
      context.strokeRect(left - FRAME_PX / 2, top - FRAME_PX / 2, FRAME_PX, FRAME_PX);
    }
    context.restore();
  },
};
const PLUGINS = [marks];

export function ScatterMap({ label, points, x, y, current, table, onSelect }: ScatterMapProps) {
  const theme = useChartTheme();
  const chart = useRef<ChartInstance<'line', { x: number; y: number }[]>>(null);
  usePulse(chart, current !== null);
  const drawn: Drawn = { points, current, colour: theme.text, halo: theme.surface };
  const fill = ({ colour }: ScatterPoint) =>
    colour === null ? theme.dimmed : cssColour(sequentialColour(colour));
  const data = {
    datasets: [
      {
        label,
        data: points.map((point) => ({ x: point.x, y: point.y })),
        showLine: false,
        pointStyle: points.map(({ colour, shape }) => (colour === null ? NO_SCORE : SHAPES[shape])),
        pointRadius: points.map(({ colour }) => SMALLEST_PX + (colour ?? 0) * (LARGEST_PX - SMALLEST_PX)),
        pointHoverRadius: LARGEST_PX + 1,
        pointHitRadius: LARGEST_PX,
        pointBackgroundColor: points.map((point) => (point.estimated ? theme.surface : fill(point))),
        pointBorderColor: points.map((point) =>
          // A ring is a thin line: it must not be as light or as dark as what it lies on.
          point.selected
            ? theme.text
            : point.estimated
              ? lineCss(point.colour ?? 0, theme.lines)
              : theme.dimmed,
        ),
        pointBorderWidth: points.map(({ selected, estimated, colour }) =>
          selected ? 4 : estimated || colour === null ? 2.5 : 1,
        ),
        ...drawn,
      },
    ],
  };
  return (
    <ChartFigure label={label} height={HEIGHT_PX} table={table}>
      {(described) => (
        <Line
          ref={chart}
          aria-label={described}
          data={data}
          options={options(theme, points, x, y, onSelect)}
          plugins={PLUGINS}
          updateMode="none"
        />
      )}
    </ChartFigure>
  );
}

function options(
  theme: ChartTheme,
  points: readonly ScatterPoint[],
  x: ScatterAxis,
  y: ScatterAxis,
  onSelect: (trial: number) => void,
): ChartOptions<'line'> {
  const scale = ({ name, ticks, format, low, high }: ScatterAxis) => ({
    type: 'linear' as const,
    min: low - ROOM * (high - low || 1),
    max: high + ROOM * (high - low || 1),
    grid: { color: theme.grid },
    border: { display: false },
    title: { display: true, text: name, color: theme.dimmed },
    afterBuildTicks: (axis: Scale) => {
      const { min, max, chart } = axis;
      const on = { low: min, high: max, lengthPx: chart.width - Y_AXIS_PX };
      const shown = axis.isHorizontal() ? marksApart(ticks, format, on) : ticks;
      axis.ticks = shown.map((value) => ({ value }));
    },
    ticks: {
      color: theme.dimmed,
      maxRotation: 0,
      autoSkip: true,
      autoSkipPadding: 12,
      callback: (value: string | number) => format(Number(value)),
    },
  });
  return {
    parsing: false,
    interaction: { mode: 'nearest', intersect: true },
    onClick: (_event, [hit]) => {
      const point = hit && points[hit.index];
      if (point) onSelect(point.trial);
    },
    plugins: {
      tooltip: {
        displayColors: false,
        callbacks: {
          title: ([item]) => points[item?.dataIndex ?? -1]?.told[0] ?? '',
          label: ({ dataIndex }) => [...(points[dataIndex]?.told.slice(1) ?? [])],
        },
      },
    },
    scales: { x: scale(x), y: scale(y) },
  };
}
