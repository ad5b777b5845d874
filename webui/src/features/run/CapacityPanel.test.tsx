import { cleanup, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { figureNamed } from '../../test/figures';
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
const words = 'At 2,100 requests/s it answers 1,950 requests/s.';
const sentence = `The configuration follows 2,000 requests/s. ${words}`;
const measured = run({
  state: 'finished',
  preset: 'capacity',
  outcome: outcome({ sentence, beyond_figures: words, ranking: [], gain: null, capacity: performance(2000) }),
});

it('shows the figures, what they do not say, and the climb with where it stops following', async () => {
  await renderInApp(<CapacityPanel run={measured} trials={[climb]} underWay={null} />);
  expect(screen.getByText(words)).toBeVisible();
  expect(figureNamed('Capacity')).toHaveTextContent('2,000 requests/s');
  const [replies] = await screen.findAllByRole('img');
  expect(replies).toHaveAccessibleName(
    /Replies over offered rate: replies at most .*; follows 2,000\srequests\/s/,
  );
  expect(screen.getAllByText('a rule broken')).toHaveLength(2);
  expect(screen.getByRole('link', { name: 'trial 1' })).toBeVisible();
  expect(screen.getByRole('link', { name: 'measurements.csv' })).toHaveAttribute(
    'href',
    '/api/v1/runs/7/measurements.csv',
  );
});

it('draws the climb while it goes on', async () => {
  const line = {
    run_id: 7,
    trial: 1,
    number: 1,
    purpose: 'calibration',
    configuration: {},
    rate_rps: 500,
    goodput_mbps: 60,
    reply_rate_rps: 490,
    timed_out: 0,
    generator_limited: false,
  } as const;
  const underWay = { run_id: 7, trial: 1, measurements: [line] };
  await renderInApp(<CapacityPanel run={run({ preset: 'capacity' })} trials={[]} underWay={underWay} />);
  const [replies] = await screen.findAllByRole('img');
  expect(replies).toHaveAccessibleName(/replies at most 490\srequests\/s/);
});

it('says `at least` on the line in the charts too', async () => {
  const least = outcome({ ranking: [], gain: null, capacity: performance(2000, { at_least: true }) });
  await renderInApp(<CapacityPanel run={run({ outcome: least })} trials={[climb]} underWay={null} />);
  for (const chart of await screen.findAllByRole('img'))
    expect(chart).toHaveAccessibleName(/; follows at least 2,000\srequests\/s/);
});

it('shows what the user has fixed, as it is what was measured', async () => {
  const fixed = { ...measured.space.fixed, workers: 4 };
  await renderInApp(
    <CapacityPanel
      run={{ ...measured, space: { ...measured.space, fixed } }}
      trials={[climb]}
      underWay={null}
    />,
  );
  expect(screen.getByText('workers=4')).toBeVisible();
  expect(screen.getByText('max_connections=1024')).toBeVisible();
});

it('draws no curve of what is offered where all of it is far above the replies', async () => {
  const lost = trial(1, {
    purpose: 'calibration',
    measurements: [{ ...measurement(4000, 100), reply_rate_rps: 500, held: false }],
  });
  await renderInApp(<CapacityPanel run={measured} trials={[lost]} underWay={null} />);
  const [replies] = await screen.findAllByRole('img');
  expect(replies).toHaveAccessibleName(/replies at most 500\srequests\/s; follows/);
  expect(screen.queryByText('all that is offered')).toBeNull();
});

it('never says of a run that has ended that nothing has been measured yet', async () => {
  const limited = climb.measurements.map((one) => ({ ...one, generator_limited: true }));
  await renderInApp(
    <CapacityPanel run={measured} trials={[{ ...climb, measurements: limited }]} underWay={null} />,
  );
  expect(screen.getByText('The load generator could offer none of the rates.')).toBeVisible();
  cleanup();
  await renderInApp(<CapacityPanel run={measured} trials={[]} underWay={null} />);
  expect(screen.getByText('Nothing was measured.')).toBeVisible();
  expect(screen.queryByText(/measured yet/)).toBeNull();
});

it('draws what is recorded where the live stream has no rate of it', async () => {
  const underWay = { run_id: 7, trial: 1, measurements: [] };
  await renderInApp(<CapacityPanel run={measured} trials={[climb]} underWay={underWay} />);
  expect(screen.queryByText(/Nothing/)).toBeNull();
});

it('draws nothing of a climb that failed, as if it were a result', async () => {
  const failed = run({
    state: 'failed',
    preset: 'capacity',
    error: 'The server died.',
    outcome: outcome({ sentence }),
  });
  await renderInApp(<CapacityPanel run={failed} trials={[climb]} underWay={null} />);
  expect(screen.getByText('There is no result to draw.')).toBeVisible();
  expect(screen.queryByRole('img')).not.toBeInTheDocument();
  expect(screen.queryByText(sentence)).not.toBeInTheDocument();
  expect(screen.getByRole('link', { name: 'trial 1' })).toBeVisible();
});
