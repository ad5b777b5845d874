// What charts of horizontal bars share: their axes, and the font of the values that stand in place of ticks.

import type { ChartOptions } from 'chart.js';
import type { ChartTheme } from './chartTheme';

export const BAR_FONT = "600 12px 'Inter Variable', system-ui, sans-serif";

/** Names down, values from zero to `max` across. */
export const barScales = (theme: ChartTheme, max: number): NonNullable<ChartOptions<'bar'>['scales']> => ({
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
});
