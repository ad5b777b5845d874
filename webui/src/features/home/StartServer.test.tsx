import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { HttpResponse, http } from 'msw';
import { beforeEach, expect, it } from 'vitest';
import { target } from '../../test/records';
import { api, renderInApp, url } from '../../test/render';
import { StartServer } from './StartServer';

const NGINX = target('nginx', {
  file: { path: '/etc/nginx/nginx.conf', values: { worker_processes: 2 }, each_cpu: {}, trouble: '' },
});

let started: unknown[];
beforeEach(() => {
  started = [];
  api.use(
    http.post(url('/runs/estimate'), () => HttpResponse.json({ trials: 24, duration_s: 300, breakdown: [] })),
    http.post(url('/runs'), async ({ request }) => {
      started.push(await request.json());
      return HttpResponse.json({ error: { code: 'spec', message: 'no', field: null } }, { status: 422 });
    }),
  );
});

const here = (...targets: ReturnType<typeof target>[]) =>
  api.use(http.get(url('/targets'), () => HttpResponse.json(targets)));

it('offers the server whose own file sets the most first, and tunes from what that sets', async () => {
  const empty = target('lighttpd', { file: { path: '/etc/l.conf', values: {}, each_cpu: {}, trouble: '' } });
  here(
    target('core'),
    target('h2o'),
    empty,
    NGINX,
    target('apache', { missing: 'apt-get install apache2-bin' }),
  );
  await renderInApp(<StartServer />);
  const names = (await screen.findAllByRole('radio')).map((radio) => radio.getAttribute('value'));
  expect(names).toEqual(['nginx', 'lighttpd', 'h2o', 'core']);
  expect(screen.getByText('worker_processes=2')).toBeInTheDocument();
  expect(screen.getByText(/Not installed here: apache\./)).toBeInTheDocument();
  await userEvent.click(screen.getByRole('button', { name: 'Tune nginx' }));
  await waitFor(() =>
    expect(started).toEqual([{ preset: 'quick', target: 'nginx', defaults: { worker_processes: 2 } }]),
  );
});

it('tunes the whole file where the operator lists it, and says before what happens to it', async () => {
  here({ ...NGINX, base_files: ['/etc/nginx/nginx.conf'] });
  const asked: unknown[] = [];
  api.use(
    http.post(url('/runs/told'), async ({ request }) => {
      asked.push(await request.json());
      const line = {
        kind: 'missing',
        text: 'proxy_pass app:80: nobody listens',
        file: '/etc/nginx/a',
        line: 7,
      };
      return HttpResponse.json({ file: '/etc/nginx/nginx.conf', includes: [], tuned: {}, lines: [line] });
    }),
  );
  await renderInApp(<StartServer />);
  expect(await screen.findByText('/etc/nginx/a:7: proxy_pass app:80: nobody listens')).toBeVisible();
  await userEvent.click(await screen.findByRole('button', { name: 'Tune nginx' }));
  expect(asked).toEqual([{ preset: 'quick', target: 'nginx', base: '/etc/nginx/nginx.conf' }]);
  await waitFor(() =>
    expect(started).toEqual([{ preset: 'quick', target: 'nginx', base: '/etc/nginx/nginx.conf' }]),
  );
  expect(screen.getByText(/you get this very file back/)).toBeInTheDocument();
});

it('says what stands in the file where that is one for each CPU, and what that is here', async () => {
  here(
    target('nginx', {
      file: {
        path: '/etc/nginx/nginx.conf',
        values: { worker_processes: 1 },
        each_cpu: { worker_processes: 'auto' },
        trouble: '',
      },
    }),
  );
  await renderInApp(<StartServer />);
  const told = 'worker_processes auto: 1 here, one for each CPU of the server';
  expect(await screen.findByText(told)).toBeInTheDocument();
  await userEvent.click(screen.getByRole('button', { name: 'Tune nginx' }));
  const from = { defaults: { worker_processes: 1 }, each_cpu: ['worker_processes'] };
  await waitFor(() => expect(started).toEqual([{ preset: 'quick', target: 'nginx', ...from }]));
});

it('falls back to its own server where nothing else is installed', async () => {
  here(target('core'), target('nginx', { missing: 'apt-get install nginx-light' }));
  await renderInApp(<StartServer />);
  await userEvent.click(await screen.findByRole('button', { name: 'Tune core' }));
  await waitFor(() => expect(started).toEqual([{ preset: 'quick', target: 'core', defaults: {} }]));
});

it('does not start what the daemon refuses, and says why', async () => {
  here(NGINX);
  api.use(
    http.post(url('/runs/estimate'), () =>
      HttpResponse.json({ error: { code: 'spec', message: 'above 8', field: null } }, { status: 422 }),
    ),
  );
  await renderInApp(<StartServer />);
  expect(await screen.findByText('above 8')).toBeInTheDocument();
  expect(screen.getByRole('button', { name: 'Tune nginx' })).toBeDisabled();
});

it('says so of a file that makes no sense, and offers the defaults', async () => {
  here({
    ...NGINX,
    file: { path: '/etc/nginx/nginx.conf', values: {}, each_cpu: {}, trouble: 'It could not be read.' },
  });
  await renderInApp(<StartServer />);
  expect(await screen.findByText(/It could not be read/)).toBeInTheDocument();
  expect(screen.getByRole('button', { name: 'Tune nginx' })).toBeEnabled();
});
