import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { station } from '../../test/records';
import { renderInApp } from '../../test/render';
import { MachinesPanel } from './MachinesPanel';

it('shows of each machine what makes it a class of its own', async () => {
  const network_cards = [{ name: 'eth0', driver: 'ixgbe', speed_mbps: 10_000 }];
  await renderInApp(
    <MachinesPanel
      stations={[station({ network_cards }), station({ name: 'web2', servers: {}, trimtab: '0.2.0' })]}
    />,
  );
  const rows = screen
    .getAllByRole('row')
    .slice(1)
    .map((row) =>
      within(row)
        .getAllByRole('cell')
        .map(({ textContent }) => textContent),
    );
  expect(rows).toEqual([
    [
      'web1',
      '2 × a processor',
      '6.18.0',
      '8.00\u00a0GiB',
      'eth0 ixgbe 10,000\u00a0Mbit/s',
      'core 0.1.0, nginx 1.22.1',
      '0.1.0, protocol 1',
    ],
    ['web2', '2 × a processor', '6.18.0', '8.00\u00a0GiB', '–', '–', '0.2.0, protocol 1'],
  ]);
});
