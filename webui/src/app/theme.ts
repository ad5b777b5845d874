// The look of the UI: one palette, one type scale. vite/mantineVariables.ts turns it into CSS when building.
//
// Colours are chosen so that text on every surface reaches WCAG AA in both colour schemes: Mantine's own
// dimmed text (grey 6 on white) and light-variant badges do not.

import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';

const marine: MantineColorsTuple = [
  '#eaf5f9',
  '#d2e8f0',
  '#a5d0e2',
  '#74b7d2',
  '#4ba0c2',
  '#2c88ad',
  '#14708f',
  '#0f5d79',
  '#0b4a61',
  '#073648',
];

export const theme = createTheme({
  colors: { marine },
  primaryColor: 'marine',
  primaryShade: { light: 6, dark: 6 },
  fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', sans-serif",
  fontFamilyMonospace:
    "ui-monospace, 'SF Mono', 'Cascadia Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace",
  headings: {
    fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', sans-serif",
    fontWeight: '650',
    sizes: {
      h1: { fontSize: '1.625rem', lineHeight: '1.25' },
      h2: { fontSize: '1.125rem', lineHeight: '1.35' },
      h3: { fontSize: '0.9375rem', lineHeight: '1.4' },
    },
  },
  defaultRadius: 'sm',
  cursorType: 'pointer',
  respectReducedMotion: true,
});

export const cssVariablesResolver: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#51606b',
    '--mantine-color-body': '#f6f8f9',
    '--mantine-color-error': '#b3261e',
    '--tt-surface': '#ffffff',
    '--tt-border': '#dbe2e7',
    '--tt-shadow': 'rgb(22 34 43 / 22%)',
    '--tt-text': '#16222b',
    '--tt-subtle': '#eef2f4',
    '--tt-good': '#1a6b3c',
    '--tt-bad': '#b3261e',
    '--tt-warn': '#8a5300',
  },
  dark: {
    '--mantine-color-dimmed': '#a4b1ba',
    '--mantine-color-body': '#10171c',
    '--mantine-color-text': '#e6edf1',
    '--mantine-color-error': '#ff8a80',
    '--mantine-color-anchor': '#74b7d2',
    '--tt-surface': '#172026',
    '--tt-border': '#2b3740',
    '--tt-shadow': 'rgb(0 0 0 / 65%)',
    '--tt-text': '#e6edf1',
    '--tt-subtle': '#1f2a31',
    '--tt-good': '#6fcf97',
    '--tt-bad': '#ff8a80',
    '--tt-warn': '#f2b85c',
  },
});
