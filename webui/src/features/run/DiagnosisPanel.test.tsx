import { screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, it } from 'vitest';
import type { Finding } from '../../api/generated';
import { renderInApp } from '../../test/render';
import { DiagnosisPanel } from './DiagnosisPanel';

const starving: Finding = {
  rule: 'large-file-starvation',
  sentence: '8 % of the requests for the largest files timed out.',
  facts: [{ name: 'timed out, largest quarter of sizes', value: 8, unit: '%' }],
  chart: {
    x_name: 'rate',
    x_unit: 'requests/s',
    y_name: 'requests timed out',
    y_unit: '%',
    series: [
      {
        name: 'largest quarter of sizes',
        points: [
          { x: 1000, y: 0 },
          { x: 2000, y: 8 },
        ],
      },
    ],
    threshold: 2,
    fires: 'above',
  },
  suggestion: 'Admit fewer connections.',
  knob: 'max_connections',
  source: 'Harji 2010, section 3.12.',
  trial: 3,
  rate_rps: 2000,
};

it('shows what a rule fired on, with its threshold, as a chart and as a table', async () => {
  await renderInApp(<DiagnosisPanel run={{ id: 7, loop: 'open' }} findings={[starving]} />);
  expect(
    await screen.findByLabelText(
      /requests timed out over rate: .*at most 8\.00\s%; the rule fires above 2\.00\s%/,
    ),
  ).toBeInTheDocument();
  await userEvent.click(screen.getByRole('button', { name: /of requests timed out over rate/ }));
  expect(screen.getByRole('row', { name: /2,000\srequests\/s 8\.00\s%/ })).toBeInTheDocument();
});

it('who says so stands with the details', async () => {
  await renderInApp(<DiagnosisPanel run={{ id: 7, loop: 'open' }} findings={[starving]} />);
  const source = screen.getByText(/after Harji 2010, section 3\.12\.$/);
  expect(source).not.toBeVisible();
  await userEvent.click(screen.getByText('Where the rule comes from'));
  expect(source).toBeVisible();
});

it('an axis of connections counts connections, though clients come at a rate', async () => {
  const chart = { ...starving.chart, x_name: 'connections', x_unit: 'connections' };
  await renderInApp(<DiagnosisPanel run={{ id: 7, loop: 'open' }} findings={[{ ...starving, chart }]} />);
  await userEvent.click(
    await screen.findByRole('button', { name: /of requests timed out over connections/ }),
  );
  expect(screen.getByRole('row', { name: /2,000\sconnections 8\.00\s%/ })).toBeInTheDocument();
  expect(screen.queryByRole('row', { name: /requests\/s/ })).toBeNull();
});

it('speaks of connections where a closed loop was driven', async () => {
  const { chart } = starving;
  const facts = [{ name: 'offered', value: 50, unit: 'connections' }];
  const closed = {
    ...starving,
    facts,
    chart: { ...chart, x_name: 'connections', x_unit: 'connections' },
    rate_rps: 64,
  };
  await renderInApp(<DiagnosisPanel run={{ id: 7, loop: 'closed' }} findings={[closed]} />);
  expect(await screen.findByText(/at 64\sconnections$/)).toBeVisible();
  expect(screen.getByText(/^50\sconnections$/)).toBeVisible();
  await userEvent.click(screen.getByRole('button', { name: /of requests timed out over connections/ }));
  expect(screen.getByRole('row', { name: /2,000\sconnections 8\.00\s%/ })).toBeInTheDocument();
});
