import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { defaultConfiguration, outcome, run, trial } from '../../test/records';
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
  expect(screen.getAllByText('95 % interval +20.0 % to +26.0 %')).toHaveLength(2);
  const rows = within(screen.getByRole('table')).getAllByRole('row');
  expect(rows[1]).toHaveTextContent('3 of 4');
  expect(rows[2]).toHaveTextContent('(default)');
  expect(screen.getByText(/Rank and gain are two tests\./)).toBeVisible();
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
