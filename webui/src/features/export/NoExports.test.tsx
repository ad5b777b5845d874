import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { renderInApp } from '../../test/render';
import { NoExports } from './NoExports';

const outcome = (best: Record<string, number> | null) => ({ best }) as never;

it('says of a run that was stopped how the files of its best so far are had', async () => {
  await renderInApp(<NoExports run={{ id: 4, state: 'stopped', outcome: outcome({ workers: 2 }) }} />);
  expect(screen.getByText('trimtab export 4')).toBeVisible();
});

it('promises no files of a run that has nothing to recommend, nor while it runs', async () => {
  await renderInApp(<NoExports run={{ id: 4, state: 'stopped', outcome: outcome(null) }} />);
  expect(screen.queryByText('trimtab export 4')).toBeNull();
  await renderInApp(<NoExports run={{ id: 4, state: 'running', outcome: null }} />);
  expect(screen.getByText('They are written when the confirmation is done.')).toBeVisible();
});
