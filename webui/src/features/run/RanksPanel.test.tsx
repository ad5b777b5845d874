import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { outcome, run } from '../../test/records';
import { renderInApp } from '../../test/render';
import { RanksPanel } from './RanksPanel';

it('marks the recommended configuration and puts it on top, also above a better rank', async () => {
  const ended = outcome({ remark_on_ranks: 'Rank and gain are two tests.' });
  const ranking = ended.ranking.toReversed();
  await renderInApp(<RanksPanel run={run()} outcome={{ ...ended, ranking }} />);
  expect(screen.getByRole('columnheader', { name: /Gain in score/ })).toBeVisible(); // the outcome has that in capacity
  const [, first, second] = within(screen.getByRole('table')).getAllByRole('row');
  expect(first).toHaveTextContent(/workers=4.* recommended/);
  expect(first).toHaveTextContent('3 of 4');
  expect(second).toHaveTextContent('(default)');
  expect(screen.getByText(/Rank and gain are two tests\./)).toBeVisible();
  expect(screen.getByText(/^95 % interval: in 95 of 100 such runs/)).toBeVisible();
});
