import { screen, within } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import type { Kernel } from '../../api/generated';
import { swappiness } from '../../test/records';
import { api, renderInApp, url } from '../../test/render';
import { KernelPanel } from './KernelPanel';

const KERNEL: Kernel = {
  here: [{ knob: swappiness, files: ['/proc/sys/vm/swappiness'], needs: 'memory-limit' }],
  lacking: [{ name: 'busy_poll', reason: 'the loopback cannot be polled' }],
  no_tls: 'it has not loaded it',
  tuners: [{ name: 'bpftune', pid: 812, sets: 'sets buffers of TCP' }],
};

it('tells what can be set, what it is set to, and what is lacking with its reason', async () => {
  api.use(http.get(url('/host/kernel'), () => HttpResponse.json(KERNEL)));
  await renderInApp(<KernelPanel />);
  const table = await screen.findByRole('table');
  const [, row] = within(table).getAllByRole('row');
  expect(row).toHaveTextContent('swappiness60 0 to 200whole machinewhere memory is limited');
  expect(screen.getByRole('list', { name: 'What cannot be set here' })).toHaveTextContent(
    'busy_poll: the loopback cannot be polledTLS by the kernel: it has not loaded it',
  );
  expect(screen.getByText('bpftune is running (process 812).')).toBeVisible();
});
