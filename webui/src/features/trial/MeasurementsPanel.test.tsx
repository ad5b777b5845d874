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
  return rows.map((row) => row.querySelector('td:nth-child(11)')?.textContent);
}

it('the broken rules of a rate that was driven twice stand at the attempt that broke them', async () => {
  expect(await verificationOf([false, true])).toEqual(['broken: file-size', 'all rules hold']);
});

it('where no rule of the verification is broken and yet something did not hold, a constraint was', async () => {
  expect(await verificationOf([false], { violations: [] })).toEqual(['a constraint broken']);
});
