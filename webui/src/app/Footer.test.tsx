import { screen } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import { api, renderInApp, url } from '../test/render';
import { Footer } from './Footer';

it.each([true, false])(
  'leads to the glossary, the metrics, and the documentation if it is there: %s',
  async (documentation) => {
    const health = { status: 'ok', version: '9.8.7', token_required: false, documentation, demo: false };
    api.use(http.get(url('/health'), () => HttpResponse.json(health)));
    await renderInApp(<Footer />);
    expect(await screen.findByText('Trimtab 9.8.7')).toBeVisible();
    expect(screen.getByRole('link', { name: 'Glossary' })).toHaveAttribute('href', '/glossary');
    expect(screen.getByRole('link', { name: /Metrics/ })).toHaveAttribute('href', '/api/v1/metrics');
    expect(screen.queryByRole('link', { name: 'Documentation' }) !== null).toBe(documentation);
  },
);
