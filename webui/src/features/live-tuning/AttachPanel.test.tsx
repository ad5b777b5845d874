import { screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import type { LiveServer } from '../../api/generated';
import { api, renderInApp, url } from '../../test/render';
import { AttachPanel } from './AttachPanel';

const server = (change: Partial<LiveServer> = {}): LiveServer => ({
  target: 'nginx',
  pid: 812,
  program: '/usr/sbin/nginx',
  processes: 3,
  user: 'root',
  addresses: ['127.0.0.1:80'],
  file: '/etc/nginx/nginx.conf',
  unit: 'nginx.service',
  obstacles: [],
  no_reload: null,
  values: { worker_processes: 1 },
  trouble: null,
  attachable: true,
  ...change,
});

const here = (...servers: LiveServer[]) =>
  api.use(http.get(url('/live-tuning/servers'), () => HttpResponse.json(servers)));

it('attaches in mode advise to the first server that may be, with one guard a line', async () => {
  const bodies: unknown[] = [];
  here(server({ pid: 7, attachable: false }), server());
  api.use(
    http.post(url('/live-tuning/sessions'), async ({ request }) => {
      bodies.push(await request.json());
      return HttpResponse.json({ error: { code: 'x', message: 'Not now.', field: null } }, { status: 409 });
    }),
  );
  await renderInApp(<AttachPanel />);
  const user = userEvent.setup();
  await user.type(await screen.findByLabelText('Guards'), 'p99 <= 50ms{enter}errors <= 0.1%');
  await user.type(screen.getByLabelText('Quiet hours'), '22:00-06:00');
  await user.click(screen.getByRole('button', { name: 'Attach' }));
  expect(await screen.findByRole('alert')).toHaveTextContent('Not now.');
  const guards = ['p99 <= 50ms', 'errors <= 0.1%'];
  const spec = { server: '812', mode: 'advise', objective: 'cost', guards, by_reload: false };
  expect(bodies).toEqual([{ ...spec, quiet_hours: '22:00-06:00' }]);
});

it('says how to allow a server that the operator does not list, and what to type instead', async () => {
  here(server({ attachable: false }));
  await renderInApp(<AttachPanel />);
  expect(await screen.findByText('TRIMTAB_LIVE_SERVERS=nginx')).toBeInTheDocument();
  expect(screen.getByText('trimtab live attach 812')).toBeInTheDocument();
  expect(screen.getByRole('button', { name: 'Attach' })).toBeDisabled();
});

it('only observes a server whose connections cannot be shared', async () => {
  here(server({ obstacles: ['It listens on no TCP port.'] }));
  await renderInApp(<AttachPanel />);
  const attach = await screen.findByRole('button', { name: 'Attach' });
  expect(attach).toBeEnabled();
  await userEvent.setup().click(screen.getByText('canary'));
  expect(screen.getByText('It listens on no TCP port.')).toBeInTheDocument();
  expect(attach).toBeDisabled();
  await userEvent.setup().click(screen.getByRole('checkbox', { name: 'Try by reloads' }));
  expect(attach).toBeEnabled();
});
