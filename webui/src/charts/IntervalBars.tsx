// Named values as horizontal bars, each with its interval as a whisker and its value written behind it.

import type { ChartData, ChartOptions, Plugin } from 'chart.js';
import { Bar } from 'react-chartjs-2';
import { intervalText, leastText } from '../maths/intervals';
import { BAR_FONT, barScales } from './bars';
import { ChartFigure } from './ChartFigure';
import { type ChartTheme, seriesColour, useChartTheme } from './chartTheme';

export interface IntervalBar {
  name: string;
  value: number;
  /** Ends of the interval, where there is one. */
  low: number | null;
  high: number | null;
  /** Whether the value is a lower bound: nothing has shown where it ends. */
  atLeast: boolean;
  /** Place in the palette. */
  style: number;
}

interface IntervalBarsProps {
  label: string;
  /** What the names are of, for the table. */
  nameOf: string;
  bars: readonly IntervalBar[];
  format: (value: number) => string;
}

const BAR_PX = 40;
const PADDING_PX = 12;
const TEXT_GAP_PX = 8;
const CAP_PX = 5;
const TEXT_PX = 130;

interface Drawn {
  bars: readonly IntervalBar[];
  texts: readonly string[];
  colour: string;
}

const whiskers: Plugin<'bar'> = {
  id: 'whiskers',
  afterDatasetsDraw(chart) {
    const { bars, texts, colour } = chart.data.datasets[0] as unknown as Drawn;
    const { ctx: context } = chart;
    const across = chart.scales.x;
    if (across === undefined) return;
    context.save();
    context.strokeStyle = colour;
    context.fillStyle = colour;
    context.lineWidth = 1.5;
    context.font = BAR_FONT;
    context.textBaseline = 'middle';
    chart.getDatasetMeta(0).data.forEach(({ y }, index) => {
      const bar = bars[index];
      if (bar === undefined) return;
      const from = across.getPixelForValue(bar.low ?? bar.value);
      const end = across.getPixelForValue(bar.high ?? bar.value);
      const to = bar.atLeast ? end + 3 * CAP_PX : end;
      context.beginPath();
      if (to > from) {
        context.moveTo(from, y);
        context.lineTo(to, y);
      }
      if (bar.low !== null) {
        context.moveTo(from, y - CAP_PX);
        context.lineTo(from, y + CAP_PX);
      }
      if (bar.atLeast) {
        context.moveTo(to - CAP_PX, y - CAP_PX);
        context.lineTo(to, y);
        context.lineTo(to - CAP_PX, y + CAP_PX);
      } else if (bar.high !== null) {
        context.moveTo(to, y - CAP_PX);
        context.lineTo(to, y + CAP_PX);
      }
      context.stroke();
      context.fillText(texts[index] ?? '', to + TEXT_GAP_PX, y);
    });
    context.restore();
  },
};
const PLUGINS = [whiskers];

export function IntervalBars({ label, nameOf, bars, format }: IntervalBarsProps) {
  const theme = useChartTheme();
  const texts = bars.map(({ value, atLeast }) => (atLeast ? `≥ ${format(value)}` : format(value)));
  const drawn: Drawn = { bars, texts, colour: theme.text };
  const data: ChartData<'bar', number[]> = {
    labels: bars.map(({ name }) => name),
    datasets: [
      {
        label,
        data: bars.map(({ value }) => value),
        backgroundColor: bars.map(({ style }) => seriesColour(theme, style)),
        barPercentage: 0.7,
        ...drawn,
      },
    ],
  };
  const inWords = bars.map((bar) => `${bar.name} ${barText(bar, format)}`);
  return (
    <ChartFigure
      label={`${label}: ${inWords.join(', ')}.`}
      height={PADDING_PX + bars.length * BAR_PX}
      table={() => ({
        columns: [nameOf, label, 'from', 'to'],
        rows: bars.map((bar) => [
          bar.name,
          valueText(bar, format),
          format(bar.low ?? Number.NaN),
          format(bar.high ?? Number.NaN),
        ]),
      })}
    >
      {(described) => (
        <Bar
          aria-label={described}
          data={data}
          options={options(theme, bars, format)}
          plugins={PLUGINS}
          updateMode="none"
        />
      )}
    </ChartFigure>
  );
}

type Format = (value: number) => string;

const valueText = ({ value, atLeast }: IntervalBar, format: Format): string =>
  leastText(atLeast) + format(value);

/** The value with its interval, if it has one. */
function barText(bar: IntervalBar, format: Format): string {
  const interval = intervalText(bar, format);
  return valueText(bar, format) + (interval && ` (${interval})`);
}

function options(theme: ChartTheme, bars: readonly IntervalBar[], format: Format): ChartOptions<'bar'> {
  return {
    indexAxis: 'y',
    layout: { padding: { right: TEXT_PX } },
    plugins: {
      tooltip: {
        callbacks: {
          label: ({ dataIndex }) => {
            const bar = bars[dataIndex];
            return bar === undefined ? '' : barText(bar, format);
          },
        },
      },
    },
    scales: barScales(theme, Math.max(...bars.map(({ value, high }) => Math.max(value, high ?? 0)))),
  };
}
