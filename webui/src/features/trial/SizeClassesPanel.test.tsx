import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { rungsOf } from '../../maths/rungs';
import { trialDetail } from '../../test/records';
import { renderInApp } from '../../test/render';
import { SizeClassesPanel } from './SizeClassesPanel';

it('shows the sizes with timeouts, and folds those without', async () => {
  const trial = trialDetail();
  const [measurement] = trial.measurements;
  if (measurement === undefined) throw new Error('the trial has no measurement');
  const of = { timed_out_before_read: 0, timed_out_after_read: 0, failed: 0, abandoned: 0 };
  measurement.size_classes = [
    { ...of, size_bytes: 512, asked: 10, replied: 10 },
    { ...of, size_bytes: 2048, asked: 10, replied: 9, timed_out_after_read: 1 },
    { ...of, size_bytes: 4096, asked: 10, replied: 10 },
  ];
  await renderInApp(<SizeClassesPanel rungs={rungsOf('open')} trial={trial} measurement={measurement} />);
  const told = within(screen.getByRole('region', { name: 'Table: Timeouts by file size' }));
  expect(told.getAllByRole('row')).toHaveLength(2);
  expect(told.getByText('2.00 KiB')).toBeVisible();
  expect(
    screen.getByText('2 sizes of which nothing timed out or failed').closest('details'),
  ).not.toHaveAttribute('open');
});

it('shows every outcome of a request, so that they add up to what was asked', async () => {
  const trial = trialDetail();
  const [measurement] = trial.measurements;
  if (measurement === undefined) throw new Error('the trial has no measurement');
  measurement.size_classes = [
    {
      size_bytes: 102,
      asked: 376,
      replied: 34,
      timed_out_before_read: 31,
      timed_out_after_read: 15,
      failed: 6,
      abandoned: 290,
    },
  ];
  await renderInApp(<SizeClassesPanel rungs={rungsOf('open')} trial={trial} measurement={measurement} />);
  const cells = screen.getAllByRole('cell').map(({ textContent }) => textContent);
  expect(cells.slice(1, 7)).toEqual(['376', '34', '31', '15', '6', '290']);
  expect(screen.getByRole('columnheader', { name: 'Never sent' })).toBeVisible();
});
