import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { run } from '../test/records';
import { renderInApp } from '../test/render';
import { RunTable } from './RunTable';

const gain = {
  gain: 0.057,
  low: 0.055,
  high: 0.059,
  significant: true,
  says_nothing: false,
  blocks: 6,
  confidence: 1 - 0.05 / 3,
};

const wide = { ...gain, low: -1, high: 3e7, significant: false, says_nothing: true };

it('a run is called by its name, and one from the archive is marked', async () => {
  await renderInApp(<RunTable runs={[run({ id: 5, name: 'before the upgrade', archived: true }), run()]} />);
  const [, first, second] = screen.getAllByRole('row');
  expect(first).toHaveTextContent(/^Run 5before the upgradearchived/);
  expect(second).toHaveTextContent(/^Run 7core/);
});

it('a run has its tags, and the load that its configuration follows', async () => {
  const open = { capacity_rps: 9200, capacity_at_least: true };
  await renderInApp(<RunTable runs={[run({ id: 5, tags: ['after', 'quiet'], ...open })]} />);
  expect(screen.getByText('quiet')).toBeVisible();
  expect(screen.getByText(/^at least 9.200 requests\/s$/)).toBeVisible();
});

it('the gain is that in capacity, with its interval and how sure that is; a run without one says what it gained in score, that this is unknown, or that it cannot be told', async () => {
  await renderInApp(
    <RunTable
      runs={[
        run({ id: 5, state: 'finished', preset: 'capacity' }),
        run({ id: 4, state: 'finished', gain: { ...gain, gain: 0.5 }, capacity_gain: gain }),
        run({ id: 3, state: 'finished', keeps_default: true }),
        run({ id: 6, state: 'finished', capacity_gain: gain, capacity_at_least: true }),
        run({ id: 8, state: 'finished', gain }),
        run({ id: 9, state: 'finished', capacity_gain: wide, capacity_at_least: true }),
        run({ id: 2, state: 'finished' }),
        run({ id: 1, state: 'interrupted' }),
      ]}
    />,
  );
  const cells = screen.getAllByRole('row').map((row) => row.querySelector('td:nth-child(6)')?.textContent);
  expect(cells.slice(1)).toEqual([
    'no search',
    expect.stringMatching(/^\+5\.7\s%98\.3\s% interval \+5\.5\s% to \+5\.9\s%$/),
    'default kept',
    expect.stringMatching(/^at least \+5\.7\s%98\.3\s% interval /),
    expect.stringMatching(/^\+5\.7\s%98\.3\s% interval .*in score$/),
    'unknown: the repeats differ too much',
    'cannot be told',
    '–',
  ]);
});
