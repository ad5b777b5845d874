// Writes Mantine's CSS variables into the style sheet when the UI is built.
//
// Mantine would put them into a <style> element when the page loads; the daemon's Content-Security-Policy
// (`default-src 'self'`) forbids that, and a file is cached. Import `virtual:mantine-variables.css` once, after
// Mantine's own style sheet, and give MantineProvider `withCssVariables={false}`.

import {
  convertCssVariables,
  DEFAULT_THEME,
  defaultCssVariablesResolver,
  mergeMantineTheme,
} from '@mantine/core';
import type { Plugin } from 'vite';
import { cssVariablesResolver, theme } from './src/app/theme.ts';

const VIRTUAL_ID = 'virtual:mantine-variables.css';
const RESOLVED_ID = '/@mantine-variables.css';

function mantineVariablesCss(): string {
  const merged = mergeMantineTheme(DEFAULT_THEME, theme);
  const base = defaultCssVariablesResolver(merged);
  const own = cssVariablesResolver(merged);
  return convertCssVariables(
    {
      variables: { ...base.variables, ...own.variables },
      light: { ...base.light, ...own.light },
      dark: { ...base.dark, ...own.dark },
    },
    ':root',
  );
}

export function mantineVariables(): Plugin {
  return {
    name: 'mantine-variables',
    resolveId: (id) => (id === VIRTUAL_ID ? RESOLVED_ID : undefined),
    load: (id) => (id === RESOLVED_ID ? mantineVariablesCss() : undefined),
  };
}
