import { MantineProvider } from '@mantine/core';
import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { ScrollTable } from './ScrollTable';

/** jsdom lays nothing out: how wide the box is, and how wide what is in it. */
function makeWide(box: HTMLElement, clientWidth: number, scrollWidth: number) {
  for (const [name, value] of Object.entries({ clientWidth, scrollWidth }))
    Object.defineProperty(box, name, { value });
}

it.each([
  [0, 'right'],
  [50, 'left right'],
  [200, 'left'],
])('after %s px sideways it says beyond which edges columns go on', (scrollLeft, edges) => {
  render(
    <MantineProvider>
      <ScrollTable label="Interrupts">{null}</ScrollTable>
    </MantineProvider>,
  );
  const box = screen.getByRole('region', { name: 'Table: Interrupts' });
  expect(box).toHaveAttribute('data-cut-at', '');
  makeWide(box, 300, 500);
  fireEvent.scroll(box, { target: { scrollLeft } });
  expect(box).toHaveAttribute('data-cut-at', edges);
});
