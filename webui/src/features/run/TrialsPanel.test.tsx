import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { useState } from 'react';
import { expect, it, vi } from 'vitest';
import { defaultConfiguration, run, trial } from '../../test/records';
import { renderInApp } from '../../test/render';
import { TrialsPanel } from './TrialsPanel';

const trials = [
  trial(1, { score: 500 }),
  trial(2, { score: 800, configuration: { ...defaultConfiguration, workers: 4 } }),
  trial(3, { score: null, verdict: 'crashed', reason: 'The server was killed by signal 9.' }),
];

const shown = {
  run: run(),
  trials,
  kept: trials,
  filter: '',
  filterError: null,
  standardScore: 500,
  chosen: [],
  sort: undefined,
  onSort: vi.fn(),
  onFilter: vi.fn(),
  onChoose: vi.fn(),
};

const numbers = () =>
  within(screen.getByRole('region', { name: 'Table of trials' }))
    .getAllByRole('row')
    .slice(1)
    .map((row) => within(row).getAllByRole('cell')[0]?.textContent);

function Sortable() {
  const [sort, setSort] = useState<string>();
  return <TrialsPanel {...shown} sort={sort} onSort={setSort} />;
}

it('lists trials newest first and sorts by score, those without one last', async () => {
  await renderInApp(<Sortable />);
  expect(numbers()).toEqual(['3', '2', '1']);
  await userEvent.click(screen.getByRole('button', { name: 'Score' }));
  expect(screen.getByRole('columnheader', { name: 'Score' })).toHaveAttribute('aria-sort', 'descending');
  expect(numbers()).toEqual(['2', '1', '3']);
  await userEvent.click(screen.getByRole('button', { name: 'Score' }));
  expect(numbers()).toEqual(['1', '2', '3']);
});

it('says the gain over the default, the reason of a failure, and how many got which verdict', async () => {
  await renderInApp(<TrialsPanel {...shown} />);
  expect(screen.getByRole('cell', { name: '+60\u00a0%' })).toBeVisible();
  expect(screen.getByText('The server was killed by signal 9.')).toBeVisible();
  const counts = within(screen.getByRole('list', { name: 'Verdicts' })).getAllByRole('listitem');
  expect(counts.map((item) => item.textContent)).toEqual(['2verified', '1crashed']);
});

it('reports the trial whose curve is asked for', async () => {
  const onSelect = vi.fn();
  await renderInApp(<TrialsPanel {...shown} chosen={[1]} onChoose={onSelect} />);
  expect(screen.getByRole('button', { name: 'Show the curve of trial 1' })).toHaveAttribute(
    'aria-pressed',
    'true',
  );
  await userEvent.click(screen.getByRole('button', { name: 'Show the curve of trial 2' }));
  expect(onSelect).toHaveBeenCalledWith(2);
});

it('draws only the rows in sight of a long table, and says how many there are', async () => {
  const many = Array.from({ length: 5000 }, (_, index) => trial(index + 1));
  await renderInApp(<TrialsPanel {...shown} trials={many} kept={many} />);
  const table = screen.getByRole('table');
  expect(table).toHaveAttribute('aria-rowcount', '5001');
  expect(within(table).getAllByRole('row').length).toBeLessThan(100);
  expect(screen.getByRole('status')).toHaveTextContent(/5.000 trials/);
});

it('says that a trial to jump to is not there', async () => {
  await renderInApp(<TrialsPanel {...shown} />);
  await userEvent.type(screen.getByRole('textbox', { name: /^Jump to/ }), '99{Enter}');
  expect(screen.getByText('Trial 99 is not in the table.')).toBeVisible();
});

it('on a narrow window tells in one text what was tried, and is still sorted by what is not shown', async () => {
  const { matchMedia } = window;
  window.matchMedia = (query) => ({ ...matchMedia(query), matches: true });
  await renderInApp(<TrialsPanel {...shown} sort="-workers" />);
  window.matchMedia = matchMedia;
  expect(numbers()).toEqual(['2', '1', '3']);
  expect(screen.queryByRole('columnheader', { name: 'workers' })).not.toBeInTheDocument();
  expect(screen.getByText('workers=4')).toBeVisible();
  expect(screen.getByText('the default · The server was killed by signal 9.')).toBeVisible();
});

it('has all trials and all measurements as CSV, whatever the filter keeps', async () => {
  await renderInApp(<TrialsPanel {...shown} kept={[]} />);
  for (const table of ['trials', 'measurements']) {
    expect(screen.getByRole('link', { name: `${table}.csv` })).toHaveAttribute(
      'href',
      `/api/v1/runs/7/${table}.csv`,
    );
  }
});
