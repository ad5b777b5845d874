import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { ApiError } from '../../api/errors';
import { renderInApp } from '../../test/render';
import { EstimatePanel } from './EstimatePanel';

type Query = Parameters<typeof EstimatePanel>[0]['climb'];

const failed = (error: ApiError) =>
  ({ error, data: undefined, isPlaceholderData: false, isFetching: false }) as unknown as Query;
const unreachable = failed(new ApiError(0, 'unreachable', 'The daemon does not answer.'));
const refused = failed(new ApiError(422, 'invalid', 'a closed loop has no rates to climb'));

const answered = {
  error: null,
  data: {
    duration_s: 60,
    trials: 5,
    breakdown: [{ phase: 'searching', trials: 5, duration_s: 60 }],
  },
  isPlaceholderData: false,
  isFetching: false,
} as unknown as Query;

const shown = (climb: Query, estimate = unreachable) =>
  renderInApp(
    <EstimatePanel
      spec={{}}
      capacity={{}}
      commands={{ tune: 'trimtab tune', capacity: 'trimtab capacity' }}
      inTerminal={false}
      impossible={null}
      estimate={estimate}
      climb={climb}
      settled
    />,
  );

it('both runs can be started where only their estimates could not be had', async () => {
  await shown(unreachable);
  expect(screen.getByRole('button', { name: 'Start the run' })).toBeEnabled();
  expect(screen.getByRole('button', { name: 'Measure capacity' })).toBeEnabled();
});

it('a climb that the daemon refuses cannot be started, and the reason is told', async () => {
  await shown(refused);
  expect(screen.getByRole('button', { name: 'Measure capacity' })).toBeDisabled();
  expect(screen.getByText('a closed loop has no rates to climb')).toBeVisible();
});

it('an estimate is busy while the next one is on its way, and readable meanwhile', async () => {
  await shown(unreachable, { ...answered, isFetching: true } as Query);
  const row = screen.getByRole('row', { name: /^searching 5/ });
  expect(row).toBeVisible();
  expect(row.closest('[aria-busy]')).toHaveAttribute('aria-busy', 'true');
});

it('an estimate of what the form says now is not busy', async () => {
  await shown(unreachable, answered);
  expect(screen.getByRole('row', { name: /^searching 5/ }).closest('[aria-busy="true"]')).toBeNull();
});
