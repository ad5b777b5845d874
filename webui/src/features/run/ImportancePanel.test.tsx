import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { renderInApp } from '../../test/render';
import { ImportancePanel } from './ImportancePanel';

const importance = (r_squared: number) => ({
  knobs: [{ knob: 'workers', share: 0.8, curve: [{ value: 4, score: 500, spread: 3 }] }],
  interactions: [],
  trials: 25,
  r_squared,
});

it('warns of shares that come from a model which predicts little', async () => {
  await renderInApp(<ImportancePanel importance={importance(0.08)} noise={0.03} />);
  expect(screen.getByText('Take these shares with care.')).toBeVisible();
  expect(screen.getByText(/predicts 8\s% of the variance/)).toBeVisible();
});

it('does not warn where the model predicts most', async () => {
  await renderInApp(<ImportancePanel importance={importance(0.9)} noise={0.03} />);
  expect(screen.queryByText('Take these shares with care.')).toBeNull();
});
