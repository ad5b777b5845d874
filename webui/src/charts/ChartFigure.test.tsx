import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, it, vi } from 'vitest';
import { renderInApp } from '../test/render';
import { ChartFigure } from './ChartFigure';

it('shows the chart with its label, and on request its numbers as a table', async () => {
  await renderInApp(
    <ChartFigure
      label="Use of CPU 0"
      legend={[{ label: 'user', value: '12 %' }]}
      table={() => ({ columns: ['Time', 'user'], rows: [['now', '12 %']] })}
    >
      {(label) => <canvas role="img" aria-label={label} />}
    </ChartFigure>,
  );
  expect(await screen.findByRole('img', { name: 'Use of CPU 0' })).toBeVisible();
  await userEvent.click(screen.getByRole('button', { name: /^Table\s*of Use of CPU 0$/ }));
  const table = screen.getByRole('table', { name: 'Use of CPU 0' });
  expect(within(table).getByRole('rowheader', { name: 'now' })).toBeVisible();
  expect(within(table).getByRole('cell', { name: '12 %' })).toBeVisible();
  expect(screen.queryByRole('img')).toBeNull();
});

it('tells rows and columns apart that say the same', async () => {
  const complaints = vi.spyOn(console, 'error').mockImplementation(() => {});
  await renderInApp(
    <ChartFigure
      label="Goodput"
      table={() => ({
        columns: ['Rate', 'run', 'run'],
        rows: [
          ['1,000', '5', '6'],
          ['1,000', '5', '6'],
        ],
      })}
    >
      {(label) => <canvas aria-label={label} />}
    </ChartFigure>,
  );
  await userEvent.click(screen.getByRole('button', { name: /^Table/ }));
  expect(screen.getAllByRole('row')).toHaveLength(3);
  expect(complaints.mock.calls.flat().join(' ')).not.toContain('same key');
});
