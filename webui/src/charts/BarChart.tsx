// Named values as horizontal bars, each with its value written in it, or behind it where it is too short.

import type { ChartData, ChartOptions, Plugin } from 'chart.js';
import { Bar } from 'react-chartjs-2';
import { ChartFigure } from './ChartFigure';
import { type ChartTheme, seriesColour, useChartTheme } from './chartTheme';

export interface NamedValue {
  name: string;
  value: number;
}

interface BarChartProps {
  label: string;
  /** What the names are of, for the table. */
  nameOf: string;
  bars: readonly NamedValue[];
  /** End of the axis, so that several charts can share it. */
  max: number;
  format: (value: number) => string;
}

const BAR_FONT = "600 12px 'Inter Variable', system-ui, sans-serif";
const BAR_PX = 30;
const PADDING_PX = 12;
const TEXT_GAP_PX = 6;

interface Texts {
  texts: readonly string[];
  inside: string;
  outside: string;
}

const barTexts: Plugin<'bar'> = {
  id: 'barTexts',
  afterDatasetsDraw(chart) {
    const drawn = chart.data.datasets[0] as unknown as Texts;
    const { ctx: context } = chart;
    context.save();
    context.font = BAR_FONT;
    context.textBaseline = 'middle';
    chart.getDatasetMeta(0).data.forEach(({ x, y }, index) => {
      const text = drawn.texts[index] ?? '';
      const width = context.measureText(text).width + 2 * TEXT_GAP_PX;
      const fits = x - chart.chartArea.left >= width;
      context.fillStyle = fits ? drawn.inside : drawn.outside;
      context.fillText(text, fits ? x - width + TEXT_GAP_PX : x + TEXT_GAP_PX, y);
    });
    context.restore();
  },
};
const PLUGINS = [barTexts];

export function BarChart({ label, nameOf, bars, max, format }: BarChartProps) {
  const theme = useChartTheme();
  const texts: Texts = {
    texts: bars.map(({ value }) => format(value)),
    inside: theme.surface,
    outside: theme.text,
  };
  const data: ChartData<'bar', number[]> = {
    labels: bars.map(({ name }) => name),
    datasets: [
      {
        label,
        data: bars.map(({ value }) => value),
        // One for each bar: Chart.js keeps what all share as it was first, also in another theme.
        backgroundColor: bars.map(() => seriesColour(theme, 0)),
        barPercentage: 0.75,
        ...texts,
      },
    ],
  };
  const all = bars.map(({ name, value }) => `${name} ${format(value)}`).join(', ');
  return (
    <ChartFigure
      label={`${label}: ${all}.`}
      height={PADDING_PX + bars.length * BAR_PX}
      table={() => ({ columns: [nameOf, label], rows: bars.map(({ name, value }) => [name, format(value)]) })}
    >
      {(described) => (
        <Bar
          aria-label={described}
          data={data}
          options={barOptions(theme, max, format)}
          plugins={PLUGINS}
          updateMode="none"
        />
      )}
    </ChartFigure>
  );
}

function barOptions(theme: ChartTheme, max: number, format: (value: number) => string): ChartOptions<'bar'> {
  return {
    indexAxis: 'y',
    plugins: { tooltip: { callbacks: { label: ({ parsed }) => format(parsed.x ?? Number.NaN) } } },
    scales: {
      x: {
        type: 'linear',
        min: 0,
        max,
        grid: { color: theme.grid },
        border: { display: false },
        ticks: { display: false },
      },
      y: {
        type: 'category',
        grid: { display: false },
        border: { color: theme.grid },
        ticks: { color: theme.text },
      },
    },
  };
}
