// Figures are found by their names, which may be in pieces: words of the glossary among them are links.

import { screen } from '@testing-library/react';

/** The figure of that name, with its value and what stands below it. */
export function figureNamed(name: string | RegExp): HTMLElement {
  const named = screen.getByText((_, element) => {
    const text = element?.tagName === 'DT' ? (element.textContent ?? '').replaceAll(/\s+/g, ' ') : '';
    return typeof name === 'string' ? text === name : name.test(text);
  });
  return named.parentElement as HTMLElement;
}
