import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { RankedConfiguration } from '../../api/generated';
import { defaultConfiguration, outcome, performance, run, trial } from '../../test/records';
import { renderInApp } from '../../test/render';
import { OutcomePanel } from './OutcomePanel';

const best = trial(2, { score: 800, configuration: { ...defaultConfiguration, workers: 4 } });

it('while the search goes on, says the best so far and that it has no interval yet', async () => {
  await renderInApp(<OutcomePanel run={run()} standard={trial(1, { score: 500 })} best={best} />);
  expect(screen.getByText('+60.0 %')).toBeVisible();
  expect(screen.getByText('no interval yet')).toBeVisible();
  expect(screen.getByText('workers=4')).toBeVisible();
  expect(screen.queryByText('backlog=1024')).toBeNull();
});

it('at the end shows the sentence, the interval and the ranking', async () => {
  const ended = run({
    outcome: outcome({
      remark_on_ranks: 'Rank and gain are two tests.',
    }),
  });
  await renderInApp(<OutcomePanel run={ended} standard={trial(1)} best={best} />);
  expect(screen.getByText('workers=4 gains 23 % over the default.')).toBeVisible();
  expect(screen.getAllByText('95 % interval +20.0 % to +26.0 %')).toHaveLength(4);
  const ranks = screen.getAllByRole('table').at(-1) as HTMLElement;
  const rows = within(ranks).getAllByRole('row');
  expect(rows[1]).toHaveTextContent('3 of 4');
  expect(rows[2]).toHaveTextContent('(default)');
  expect(screen.getByText(/Rank and gain are two tests\./)).toBeVisible();
});

it('says how much load is followed, how fast, and at what cost, beside the default', async () => {
  await renderInApp(<OutcomePanel run={run({ outcome: outcome() })} standard={trial(1)} best={best} />);
  const told = (label: string) => screen.getByText(label, { selector: 'dt' }).parentElement;
  expect(told('Follows')).toHaveTextContent('9 200 req/s');
  expect(told('Follows')).toHaveTextContent('the default 5 200 req/s');
  expect(told('Latency p99 at 5 000 req/s')).toHaveTextContent('3.10 ms');
  expect(told('CPU per 1,000 requests at 5 000 req/s')).toHaveTextContent('120 ms');
  expect(told('Memory at its peak (PSS)')).toHaveTextContent('48.0 MB');
  const table = screen.getByRole('table', { name: 'What the finalists do' });
  expect(within(table).getByRole('columnheader', { name: /recommended/ })).toHaveTextContent('workers=4');
  expect(within(table).getByRole('row', { name: /Follows/ })).toHaveTextContent(
    '5 200 req/s5 000 req/s to 5 400 req/s9 200 req/s9 000 req/s to 9 400 req/s',
  );
});

it('has a picture of the capacities that says the same to those who do not see it', async () => {
  await renderInApp(<OutcomePanel run={run({ outcome: outcome() })} standard={trial(1)} best={best} />);
  expect(
    await screen.findByRole('img', {
      name: /default 5\s200\sreq\/s \(5\s000\sreq\/s to 5\s400\sreq\/s\), recommended 9\s200\sreq\/s/,
    }),
  ).toBeVisible();
});

it('says `at least` where nothing was met that it does not follow', async () => {
  const ended = outcome();
  const [first, second] = ended.ranking as [RankedConfiguration, RankedConfiguration];
  const gain = { gain: 0.77, low: 0.7, high: null, significant: true, blocks: 4, confidence: 0.95 };
  const open = performance(9200, {
    at_least: true,
    capacity_rps: { mean: 9200, low: 9000, high: null },
    capacity_gain: gain,
  });
  const ranking = [{ ...first, performance: open }, second];
  await renderInApp(
    <OutcomePanel run={run({ outcome: { ...ended, ranking } })} standard={trial(1)} best={best} />,
  );
  expect(screen.getByText('Follows', { selector: 'dt' }).parentElement).toHaveTextContent(
    'at least 9 200 req/s',
  );
  expect(screen.getAllByText('at least +77.0 %')).toHaveLength(2);
  expect(screen.getAllByText('95 % interval from +70.0 %')).toHaveLength(2);
  expect(await screen.findByRole('img')).toHaveAccessibleName(
    /recommended at least 9\s200\sreq\/s \(from 9\s000\sreq\/s\)/,
  );
});

it('says so when a gain could be chance or was not confirmed', async () => {
  const gain = { gain: 0.01, low: -0.05, high: 0.07, significant: false, blocks: 4, confidence: 0.95 };
  await renderInApp(
    <OutcomePanel
      run={run({ outcome: outcome({ gain, confirmed: false, ranking: [] }) })}
      standard={undefined}
      best={undefined}
    />,
  );
  expect(screen.getByText(/could be chance/)).toBeVisible();
  expect(screen.getByText('not confirmed')).toBeVisible();
});
