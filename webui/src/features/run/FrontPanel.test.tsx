import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { FrontMember } from '../../api/generated';
import { defaultConfiguration, outcome, run, trial } from '../../test/records';
import { renderInApp } from '../../test/render';
import { FrontPanel } from './FrontPanel';

const member = (change: Partial<FrontMember>): FrontMember => ({
  configuration: defaultConfiguration,
  configuration_hash: 'a',
  score_mbps: 500,
  second_score: 12.5,
  confirmed: true,
  place: 'best-second',
  is_default: true,
  is_best: false,
  ...change,
});

const trials = [
  trial(1, { score: 500, second_score: 12.5 }),
  trial(2, { score: 640, second_score: 80 }),
  trial(3, { score: null, second_score: null, verdict: 'crashed' }),
];

it('shows each member of the front with both figures, its place and whether it is recommended', async () => {
  const four = { ...defaultConfiguration, workers: 4 };
  const front = {
    first: { objective: 'condensed-area', unit: 'Mbps', minimised: false },
    second: { objective: 'rss', unit: 'MB', minimised: true },
    members: [
      member({
        configuration: four,
        configuration_hash: 'b',
        score_mbps: 640,
        second_score: 80,
        place: 'best-first',
        is_default: false,
        is_best: true,
      }),
      member({ confirmed: false }),
    ],
  };
  await renderInApp(<FrontPanel run={run({ outcome: outcome({ front }) })} second="rss" trials={trials} />);
  const rows = within(screen.getByRole('table')).getAllByRole('row');
  expect(rows[1]).toHaveTextContent(
    /best in mean goodput over the ladder.*workers=4.*recommended640 Mbps80.0 MBthe confirmation/,
  );
  expect(rows[2]).toHaveTextContent(
    /best in memory at its peak \(PSS\).*\(default\)500 Mbps12.5 MBthe search/,
  );
});

it('recommends nothing of the front before a confirmation', async () => {
  const front = {
    first: { objective: 'condensed-area', unit: 'Mbps', minimised: false },
    second: { objective: 'rss', unit: 'MB', minimised: true },
    members: [member({ is_best: true, confirmed: false })],
  };
  const stopped = outcome({ front, confirmed: false });
  await renderInApp(<FrontPanel run={run({ outcome: stopped })} second="rss" trials={trials} />);
  const rows = within(screen.getByRole('table')).getAllByRole('row');
  expect(rows[1]).toHaveTextContent('leads so far');
  expect(screen.queryByText(/recommended/)).toBeNull();
});

it('shows the trials by both objectives while there is no front yet', async () => {
  await renderInApp(<FrontPanel run={run()} second="p999" trials={trials} />);
  await screen.findByLabelText(
    /^Trials by latency p99\.9 at the lowest rate and mean goodput over the ladder/,
  ); // charts are made when the page is idle
  expect(screen.queryByRole('table')).toBeNull();
});
