import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { renderInApp } from '../../test/render';
import { TroubleMessage } from './TroubleMessage';

it('an interrupted run is no error: it says what happened, and that it can be resumed', async () => {
  const error = 'The agent ended while this run was going on.';
  await renderInApp(<TroubleMessage run={{ state: 'interrupted', error }} />);
  expect(screen.queryByRole('alert')).toBeNull();
  expect(screen.getByText('The run was interrupted.')).toBeVisible();
  expect(screen.getByText(/agent ended while this run was going on\. .*Resume goes on/)).toBeVisible();
});

it('a failed run is an alert with its reason', async () => {
  await renderInApp(<TroubleMessage run={{ state: 'failed', error: 'no space left on /var' }} />);
  expect(screen.getByRole('alert')).toHaveTextContent('The run failed.no space left on /var');
});

it('a run without trouble shows nothing', async () => {
  await renderInApp(<TroubleMessage run={{ state: 'finished', error: '' }} />);
  expect(screen.getByTestId('app')).toBeEmptyDOMElement();
});
