import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { Measurement, TrialDetail } from '../../api/generated';
import { rungsOf } from '../../maths/rungs';
import { trialDetail } from '../../test/records';
import { renderInApp } from '../../test/render';
import { MeasurementsPanel } from './MeasurementsPanel';

async function verificationOf(held: readonly boolean[], change: Partial<TrialDetail> = {}) {
  const trial = trialDetail(change);
  const at2000 = trial.measurements[1] as Measurement;
  const measurements = held.map((one, index) => ({ ...at2000, number: index + 1, held: one }));
  await renderInApp(
    <MeasurementsPanel
      rungs={rungsOf('open')}
      trial={{ ...trial, measurements }}
      selected={1}
      onSelect={() => undefined}
    />,
  );
  const [, ...rows] = screen.getAllByRole('row');
  return rows.map((row) => row.querySelector('td:nth-child(12)')?.textContent);
}

it('the broken rules of a rate that was driven twice stand at the attempt that broke them', async () => {
  expect(await verificationOf([false, true])).toEqual(['broken: file-size', 'all rules hold']);
});

it('where no rule of the verification is broken and yet something did not hold, a constraint was', async () => {
  expect(await verificationOf([false], { violations: [] })).toEqual(['a constraint broken']);
});

it('requests that were never sent are told, so that those of a rate add up', async () => {
  const trial = trialDetail();
  const [first] = trial.measurements as [Measurement];
  const requests = {
    ...first.requests,
    offered: 200,
    replied: 99,
    timed_out_before_read: 1,
    abandoned: 80,
    dropped: 20,
  };
  await renderInApp(
    <MeasurementsPanel
      rungs={rungsOf('open')}
      trial={{ ...trial, measurements: [{ ...first, requests }] }}
      selected={1}
      onSelect={() => undefined}
    />,
  );
  expect(screen.getByRole('columnheader', { name: 'Never sent' })).toBeVisible();
  expect(screen.getByRole('cell', { name: /^100 \(50/ })).toBeVisible();
});
