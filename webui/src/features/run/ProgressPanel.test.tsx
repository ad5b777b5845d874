import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { rungsOf } from '../../maths/rungs';
import { progress } from '../../test/records';
import { renderInApp } from '../../test/render';
import { ProgressPanel } from './ProgressPanel';

it('what the change that was tried first brings is told while the search goes on', async () => {
  const so_far = 'So far: +160 % with worker_connections=15000 alone (one trial, not confirmed).';
  await renderInApp(<ProgressPanel progress={progress({ so_far })} rungs={rungsOf('open')} />);
  expect(screen.getByText(so_far)).toBeVisible();
});
