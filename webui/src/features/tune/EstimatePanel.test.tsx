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

const shown = (climb: Query) =>
  renderInApp(
    <EstimatePanel
      spec={{}}
      capacity={{}}
      commands={{ tune: 'trimtab tune', capacity: 'trimtab capacity' }}
      inTerminal={false}
      impossible={null}
      estimate={unreachable}
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
