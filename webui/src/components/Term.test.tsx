import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, it } from 'vitest';
import { renderInApp } from '../test/render';
import { Term, WithTerms } from './Term';

it('is explained when the keyboard is on it, no longer after Escape, and leads to its entry', async () => {
  await renderInApp(<Term of="PSS">memory</Term>);
  const link = screen.getByRole('link', { name: 'memory' });
  expect(link).toHaveAttribute('href', '/glossary#pss');
  expect(screen.queryByRole('tooltip')).toBeNull();
  await userEvent.tab();
  expect(link).toHaveFocus();
  await waitFor(() => expect(link).toHaveAccessibleDescription(/^Proportional set size/));
  await userEvent.keyboard('{Escape}');
  await waitFor(() => expect(screen.queryByRole('tooltip')).toBeNull());
});

it('is explained while the pointer is on it', async () => {
  await renderInApp(<Term of="Goodput" />);
  await userEvent.hover(screen.getByRole('link', { name: 'Goodput' }));
  expect(await screen.findByRole('tooltip')).toHaveTextContent(/that came in time/);
});

it('stands in a text that reads as before', async () => {
  await renderInApp(
    <p data-testid="text">
      <WithTerms text="Goodput over the ladder, and goodput again." />
    </p>,
  );
  expect(screen.getByTestId('text')).toHaveTextContent('Goodput over the ladder, and goodput again.');
  expect(screen.getAllByRole('link').map(({ textContent }) => textContent)).toEqual(['Goodput', 'ladder']);
});
