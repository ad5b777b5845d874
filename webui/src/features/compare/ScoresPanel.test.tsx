import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { ComparedRun } from '../../api/generated';
import { run } from '../../test/records';
import { renderInApp } from '../../test/render';
import { ScoresPanel } from './ScoresPanel';

const compared = (id: number, scores_mbps: number[]) =>
  ({
    ...run({ id }),
    rank: null,
    confirmed: false,
    best: null,
    scores_mbps,
    curve: [
      { rate_rps: 1000, goodput_mbps: 700 },
      { rate_rps: 2000, goodput_mbps: 900 },
    ],
  }) as unknown as ComparedRun;

const heads = () => screen.getAllByRole('columnheader').map(({ textContent }) => textContent);

it('scores that do not compare are on no common scale; the peak is beside them', async () => {
  await renderInApp(<ScoresPanel runs={[compared(1, [500]), compared(2, [90])]} comparable={false} />);
  expect(heads()).not.toContain('Distribution');
  expect(screen.getAllByText('900 Mbps')).toHaveLength(2);
});

it('scores that compare are shown on one scale', async () => {
  await renderInApp(<ScoresPanel runs={[compared(1, [500, 520]), compared(2, [90])]} comparable />);
  expect(heads()).toContain('Distribution');
  expect(screen.getAllByRole('img', { name: /^From/ })).toHaveLength(2);
});

it('a run that only measured its configuration has gained nothing that could be confirmed', async () => {
  await renderInApp(
    <ScoresPanel
      runs={[compared(1, [500]), { ...compared(2, []), preset: 'capacity' }]}
      comparable={false}
    />,
  );
  const gains = screen.getAllByRole('row').map((row) => row.lastElementChild?.textContent);
  expect(gains.slice(1)).toEqual(['not confirmed', 'no search']);
});
