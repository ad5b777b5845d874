import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { measurement, outcome, performance, run, trial } from '../../test/records';
import { renderInApp } from '../../test/render';
import { CapacityPanel } from './CapacityPanel';

const climb = trial(1, {
  purpose: 'calibration',
  measurements: [
    measurement(1000, 100),
    measurement(4000, 300),
    { ...measurement(2000, 150), held: false },
    measurement(2000, 200),
    { ...measurement(3000, 290), held: false },
  ],
});
const sentence = 'The configuration follows 2,000 requests/s.';
const measured = run({
  state: 'finished',
  settings: { capacity_only: true },
  outcome: outcome({ sentence, ranking: [], gain: null, capacity: performance(2000) }),
});

it('shows the sentence, the figures, and the climb with where it stops following', async () => {
  await renderInApp(<CapacityPanel run={measured} trials={[climb]} underWay={null} />);
  expect(screen.getByText(sentence)).toBeVisible();
  expect(screen.getByText('Follows').parentElement).toHaveTextContent('2 000 req/s');
  const [replies] = await screen.findAllByRole('img');
  expect(replies).toHaveAccessibleName(
    /Replies over offered rate: replies at most .*; follows 2\s000\sreq\/s/,
  );
  expect(screen.getAllByText('a rule broken')).toHaveLength(2);
  expect(screen.getByRole('link', { name: 'trial 1' })).toBeVisible();
});

it('draws the climb while it goes on', async () => {
  const line = {
    run_id: 7,
    trial: 1,
    purpose: 'calibration',
    configuration: {},
    rate_rps: 500,
    goodput_mbps: 60,
    reply_rate_rps: 490,
    timed_out: 0,
    generator_limited: false,
  } as const;
  const underWay = { run_id: 7, trial: 1, measurements: [line] };
  await renderInApp(
    <CapacityPanel run={run({ settings: { capacity_only: true } })} trials={[]} underWay={underWay} />,
  );
  const [replies] = await screen.findAllByRole('img');
  expect(replies).toHaveAccessibleName(/replies at most 490\sreq\/s/);
});
