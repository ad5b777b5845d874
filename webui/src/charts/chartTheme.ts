// Colours of charts: a canvas cannot read CSS variables, so both schemes are spelt out here.

import { useComputedColorScheme } from '@mantine/core';
import type { Lightness } from '../maths/colourScale';
import './register';

export interface ChartTheme {
  text: string;
  dimmed: string;
  grid: string;
  surface: string;
  /** Eight colours of Okabe and Ito's palette, which people with any kind of colour blindness tell apart. */
  series: readonly string[];
  /** Of thin lines on the sequential scale: cells may be nearly as light or dark as the surface, lines may not. */
  lines: Lightness;
}

export const LIGHT: ChartTheme = {
  text: '#16222b',
  dimmed: '#51606b',
  grid: '#e4eaee',
  surface: '#ffffff',
  series: ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#7a6a00', '#4d4d4d'],
  lines: [0.25, 0.53],
};

export const DARK: ChartTheme = {
  text: '#e6edf1',
  dimmed: '#a4b1ba',
  grid: '#2b3740',
  surface: '#172026',
  series: ['#56b4e9', '#f0894a', '#35c79a', '#e29ac2', '#f0c04a', '#3b8fd0', '#d6cc5a', '#b5bcc2'],
  lines: [0.63, 0.95],
};

/** Line styles that set series apart without colour; in the order of the series. */
const DASHES: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 2], [1, 2]];

export const seriesColour = (theme: ChartTheme, index: number): string =>
  theme.series[index % theme.series.length] as string;

export const seriesDash = (index: number): number[] => [
  ...(DASHES[index % DASHES.length] as readonly number[]),
];

export function useChartTheme(): ChartTheme {
  return useComputedColorScheme('light', { getInitialValueInEffect: false }) === 'dark' ? DARK : LIGHT;
}
