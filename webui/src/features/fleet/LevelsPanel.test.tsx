import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { station } from '../../test/records';
import { renderInApp } from '../../test/render';
import { LevelsPanel } from './LevelsPanel';

const cellsOf = (row: HTMLElement) => within(row).getAllByRole('cell');

it('has the fastest host first, each beside the mean and beside the run before', async () => {
  await renderInApp(
    <LevelsPanel
      stations={[
        station({ name: 'slow', level: 0.9, level_before: 0.75 }),
        station({ name: 'fast', level: 1.2, level_before: null }),
        station({ name: 'unknown', level: null, level_before: 1 }),
      ]}
    />,
  );
  const [, ...rows] = screen.getAllByRole('row');
  expect(rows.map((row) => cellsOf(row).map(({ textContent }) => textContent?.trim()))).toEqual([
    ['fast', '+20\u00a0%', '–'],
    ['slow', '-10\u00a0%', '+20\u00a0%'],
  ]);
});

it('has a bar for each host, whole for the fastest', async () => {
  await renderInApp(
    <LevelsPanel stations={[station({ name: 'a', level: 1.6 }), station({ name: 'b', level: 0.4 })]} />,
  );
  const widths = [...document.querySelectorAll<HTMLElement>('td [style]')].map(({ style }) => style.width);
  expect(widths.filter(Boolean)).toEqual(['100%', '25%']);
});
