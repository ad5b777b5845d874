import { File as NodeFile } from 'node:buffer';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router';
import { cleanup, render, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { HttpResponse, http } from 'msw';
import { beforeEach, expect, it } from 'vitest';
import { theme } from '../../app/theme';
import { preset, run, space, swappiness } from '../../test/records';
import { api, url } from '../../test/render';
import { TunePage } from './TunePage';

const named = (...names: string[]) => names.map((name) => ({ name, help: `About ${name}.` }));

beforeEach(() => {
  const long = { ...preset, name: 'standard', settings: { ...preset.settings, budget_trials: 60 } };
  const answers = {
    '/presets': [preset, long],
    '/targets': [
      {
        name: 'core',
        help: 'Ours.',
        protocol: 'http',
        workload: 'specweb99',
        base_files: ['/srv/listed.conf'],
        uploads: null,
      },
      {
        name: 'mariadb',
        help: 'A database.',
        protocol: 'mariadb',
        workload: 'shop',
        file: { path: '/etc/mysql/my.cnf', values: { workers: 3 }, each_cpu: {}, trouble: '' },
        base_files: [],
        uploads: '/var/lib/trimtab/uploads/mariadb',
      },
    ],
    '/workloads': [
      { name: 'specweb99', help: 'Files.', protocol: 'http' },
      { name: 'shop-ordering', help: 'Buyers.', protocol: 'mariadb' },
      { name: 'shop', help: 'Customers.', protocol: 'mariadb' },
    ],
    '/strategies': named('coarse-to-fine', 'tpe'),
    '/objectives': named('condensed-area'),
    '/second-objectives': named('rss'),
    '/conditions': { memory: [], start: [], link: [] },
    '/targets/core/space': space,
    '/targets/mariadb/space': space,
    '/runs/7': run({ state: 'finished', budget_trials: 33, settings: preset.settings }),
  };
  api.use(
    ...Object.entries(answers).map(([path, answer]) => http.get(url(path), () => HttpResponse.json(answer))),
    http.post(url('/runs/estimate'), () => HttpResponse.json({ trials: 9, duration_s: 60, breakdown: [] })),
  );
});

/** The page at its own address; `like`: a run whose settings it begins with, or `target`: a server. */
async function open(like?: number, target?: string) {
  const root = createRootRoute();
  const tune = createRoute({ getParentRoute: () => root, path: '/tune', component: TunePage });
  const router = createRouter({
    routeTree: root.addChildren([tune]),
    history: createMemoryHistory({
      initialEntries: [`/tune${like ? `?like=${like}` : ''}${target ? `?target=${target}` : ''}`],
    }),
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <MantineProvider theme={theme} env="test">
      <QueryClientProvider client={client}>
        <RouterProvider router={router as never} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  await screen.findByRole('textbox', { name: 'Budget' });
  return router;
}

const budget = () => screen.getByRole('textbox', { name: 'Budget' });
const changeBudget = async (text: string) => {
  await userEvent.clear(budget());
  await userEvent.type(budget(), text);
};

it('what was changed is there after leaving the page', async () => {
  await open();
  await changeBudget('7');
  cleanup();
  await open();
  expect(budget()).toHaveValue('7 trials');
});

it('a preset asks before it discards what was changed, also when it is chosen with an arrow key', async () => {
  await open();
  await changeBudget('7');
  screen.getByRole('radio', { name: 'quick' }).focus();
  await userEvent.keyboard('{ArrowRight}');
  expect(await screen.findByRole('button', { name: 'Keep them' })).toBeVisible();
  expect(budget()).toHaveValue('7 trials');
  await userEvent.click(screen.getByRole('button', { name: 'Keep them' }));
  expect(screen.getByRole('radio', { name: 'quick' })).toBeChecked();
  expect(budget()).toHaveValue('7 trials');
  await userEvent.click(screen.getByRole('radio', { name: 'standard' }));
  await userEvent.click(await screen.findByRole('button', { name: 'Discard my changes' }));
  expect(budget()).toHaveValue('60 trials');
  expect(screen.queryByRole('button', { name: 'Keep them' })).toBeNull();
});

it('a preset that discards nothing asks nothing', async () => {
  await open();
  await userEvent.click(screen.getByRole('radio', { name: 'standard' }));
  expect(budget()).toHaveValue('60 trials');
});

it('begins with the settings of a run, and goes on as if they had been written here', async () => {
  const router = await open(7);
  expect(budget()).toHaveValue('33 trials');
  await waitFor(() => expect(router.state.location.search).toEqual({}));
  await changeBudget('8');
  cleanup();
  await open();
  expect(budget()).toHaveValue('8 trials');
});

it('a file that is chosen gives the defaults, and the run can be started here', async () => {
  const started: unknown[] = [];
  api.use(
    http.post(url('/targets/core/values'), async ({ request }) => {
      const { text } = (await request.json()) as { text: string };
      return text.includes('workers')
        ? HttpResponse.json({ values: { workers: 3 }, each_cpu: {}, told: [] })
        : HttpResponse.json(
            { error: { code: 'bad-specification', message: 'line 1: no such key', field: 'text' } },
            { status: 422 },
          );
    }),
    http.post(url('/runs'), async ({ request }) => {
      started.push(await request.json());
      return HttpResponse.json(run(), { status: 201 });
    }),
  );
  await open();
  const input = document.querySelector('input[type=file]') as HTMLInputElement;
  await userEvent.upload(input, new File(['nonsense'], 'wrong.conf'));
  expect(await screen.findByText('line 1: no such key')).toBeVisible();
  await userEvent.upload(input, new File(['workers = 3'], 'own.conf'));
  expect(await screen.findByText(/Taken from own\.conf/)).toHaveTextContent('workers=3');
  const start = screen.getByRole('button', { name: 'Start the run' });
  await waitFor(() => expect(start).toBeEnabled());
  await userEvent.click(start);
  await waitFor(() => expect(started).toMatchObject([{ defaults: { workers: 3 } }]));
});

it('a file that is too large or has vanished is told of, and what stands there stays', async () => {
  await open();
  const input = document.querySelector('input[type=file]') as HTMLInputElement;
  const field = screen.getByRole('textbox', { name: 'Your own configuration file' });
  await userEvent.type(field, 'workers = 2');
  await userEvent.upload(input, new File(['#'.repeat(2 ** 20 + 1)], 'disk.img'));
  expect(await screen.findByText(/disk\.img has 1\.00\sMiB: expected at most/)).toBeVisible();
  const gone = Object.assign(new File(['x'], 'gone.conf'), { text: () => Promise.reject(new Error('gone')) });
  await userEvent.upload(input, gone);
  expect(await screen.findByText('gone.conf cannot be read: choose it again.')).toBeVisible();
  expect(field).toHaveValue('workers = 2');
});

it('a target that speaks another protocol has other workloads, and begins with its usual one', async () => {
  await open();
  const workload = () => screen.getByRole('combobox', { name: 'Workload' });
  expect(workload()).toHaveValue('specweb99');
  await userEvent.click(screen.getByRole('combobox', { name: 'Target' }));
  await userEvent.click(await screen.findByRole('option', { name: 'mariadb' }));
  await waitFor(() => expect(workload()).toHaveValue('shop'));
  await userEvent.click(workload());
  expect(await screen.findByRole('option', { name: 'shop-ordering' })).toBeVisible();
  expect(screen.queryByRole('option', { name: 'specweb99' })).toBeNull();
});

/** The space as the daemon gives it: with the kernel's knob where it is asked for. */
const withKernel = () =>
  http.get(url('/targets/core/space'), ({ request }) =>
    HttpResponse.json(
      new URL(request.url).searchParams.get('kernel') === 'true'
        ? { ...space, knobs: [...space.knobs, swappiness] }
        : space,
    ),
  );

it('shows the knobs of the kernel when they are asked for, and keeps what was changed', async () => {
  api.use(withKernel());
  await open();
  const budget = screen.getByRole('textbox', { name: 'Budget' });
  await userEvent.clear(budget);
  await userEvent.type(budget, '44');
  expect(screen.queryByRole('group', { name: /swappiness/ })).toBeNull();
  await userEvent.click(screen.getByRole('switch', { name: 'Tune the kernel too' }));
  expect(await screen.findByRole('group', { name: /swappiness/ })).toHaveTextContent('whole machine');
  expect(screen.getByRole('textbox', { name: 'Budget' })).toHaveValue('44 trials');
  expect(screen.getByText(/trimtab tune --kernel/)).toBeInTheDocument();
});

it('begins like a run that has tuned the kernel with its knobs', async () => {
  const searched = { ...space, knobs: [...space.knobs, { ...swappiness, default: 10 }] };
  api.use(
    withKernel(),
    http.get(url('/runs/7'), () => HttpResponse.json(run({ space: searched, settings: preset.settings }))),
  );
  await open(7);
  expect(screen.getByRole('switch', { name: 'Tune the kernel too' })).toBeChecked();
  expect(screen.getByRole('group', { name: /swappiness/ })).toHaveTextContent('default 60');
});

it('a server that was chosen elsewhere is the one to tune, over what its own file sets', async () => {
  const router = await open(undefined, 'mariadb');
  expect(screen.getByRole('combobox', { name: 'Target' })).toHaveValue('mariadb');
  expect(screen.getByText('Taken from /etc/mysql/my.cnf:', { exact: false })).toHaveTextContent('workers=3');
  expect(screen.getByRole('combobox', { name: 'Workload' })).toHaveValue('shop');
  await waitFor(() => expect(router.state.location.search).toEqual({}));
});

it('what is set up for that server already stays as it is', async () => {
  await open();
  await changeBudget('7');
  cleanup();
  await open(undefined, 'core');
  expect(budget()).toHaveValue('7 trials');
});

it('a file that was chosen elsewhere is the one to begin with, whatever is set up for its server', async () => {
  await open();
  await changeBudget('7');
  cleanup();
  await open(undefined, 'core&base=/srv/own.conf');
  expect(screen.getByText(/trimtab tune .*--base \/srv\/own\.conf/)).toBeVisible();
});

it('one field takes a file’s text or its path, and a path is for a terminal', async () => {
  await open();
  const file = screen.getByRole('textbox', { name: 'Your own configuration file' });
  await userEvent.type(file, '/srv/own.conf');
  expect(screen.getByRole('button', { name: 'Start the run' })).toBeDisabled();
  expect(screen.getByText(/trimtab tune .*--base \/srv\/own\.conf/)).toBeVisible();
  await userEvent.clear(file);
  await userEvent.type(file, 'workers = 2');
  expect(screen.getByRole('button', { name: 'Start the run' })).toBeEnabled();
  expect(screen.getByRole('button', { name: 'Take its values' })).toBeEnabled();
});

it('a run with a file that the operator lists is started here', async () => {
  const estimated: unknown[] = [];
  api.use(
    http.post(url('/runs/estimate'), async ({ request }) => {
      estimated.push(await request.json());
      return HttpResponse.json({ trials: 9, duration_s: 60, breakdown: [] });
    }),
    http.post(url('/runs/told'), () =>
      HttpResponse.json({
        file: '/srv/listed.conf',
        includes: ['/srv/b.conf'],
        tuned: { workers: 2 },
        lines: [
          { kind: 'changed', text: 'pid is the instance’s own', file: '', line: 0 },
          { kind: 'changed', text: 'listen 80; at 127.77.0.1:PORT', file: '', line: 0 },
          { kind: 'missing', text: 'proxy_pass app:80: nobody listens', file: '/srv/listed.conf', line: 7 },
        ],
      }),
    ),
    http.post(url('/runs/checked'), () =>
      HttpResponse.json({ path: '/srv/listed.conf', found: [], trouble: '' }),
    ),
  );
  await open();
  const file = screen.getByRole('textbox', { name: 'Your own configuration file' });
  await userEvent.type(file, '/srv/listed.conf');
  expect(await screen.findByText('/srv/listed.conf:7: proxy_pass app:80: nobody listens')).toBeVisible();
  await userEvent.click(screen.getByText('In what the measured file differs from yours (2)'));
  expect(screen.getByText('listen 80; at 127.77.0.1:PORT')).toBeVisible();
  expect(screen.queryByText(/Logs, which stay on/)).toBeNull();
  expect(screen.getByRole('button', { name: 'Start the run' })).toBeEnabled();
  await waitFor(() =>
    expect(estimated).toContainEqual(expect.objectContaining({ preset: 'quick', base: '/srv/listed.conf' })),
  );
  expect(await screen.findByText('It is measured with what it includes: /srv/b.conf.')).toBeVisible();
});

it('a whole file is sent, told of line by line, and begins the run', async () => {
  const [sent, started]: [string[], unknown[]] = [[], []];
  const path = '/var/lib/trimtab/uploads/mariadb/0123456789abcdef/own.cnf';
  api.use(
    http.post(url('/targets/mariadb/files'), async ({ request }) => {
      const text = await request.text();
      sent.push(`${new URL(request.url).searchParams.get('called')}: ${text}`);
      return text.includes('include')
        ? HttpResponse.json(
            { error: { code: 'bad-specification', message: 'own.cnf includes b.cnf', field: 'base' } },
            { status: 422 },
          )
        : HttpResponse.json({ path }, { status: 201 });
    }),
    http.post(url('/runs/told'), () =>
      HttpResponse.json({
        file: path,
        includes: [],
        tuned: { workers: 3 },
        lines: [{ kind: 'changed', text: 'listen 80 at 127.77.0.1:PORT', file: '', line: 0 }],
      }),
    ),
    http.post(url('/runs/checked'), () => HttpResponse.json({ path, found: [], trouble: '' })),
    http.post(url('/runs'), async ({ request }) => {
      started.push(await request.json());
      return HttpResponse.json(run(), { status: 201 });
    }),
  );
  await open(undefined, 'mariadb');
  const input = document.querySelector('input[type=file]') as HTMLInputElement;
  // Not jsdom's, of which fetch sends the name of its type.
  const own = (text: string) => new NodeFile([text], 'own.cnf') as unknown as File;
  const refused = own('include b.cnf');
  await userEvent.upload(input, refused);
  expect(await screen.findByText('own.cnf includes b.cnf')).toBeVisible();
  await userEvent.upload(input, refused);
  await waitFor(() => expect(sent).toEqual(Array(2).fill('own.cnf: include b.cnf')));
  await userEvent.upload(input, own('workers = 3'));
  await userEvent.click(await screen.findByText('In what the measured file differs from yours (1)'));
  expect(sent.slice(2)).toEqual(['own.cnf: workers = 3']);
  expect(screen.getByText('listen 80 at 127.77.0.1:PORT')).toBeVisible();
  expect(await screen.findByText('Nothing in it contradicts this machine.')).toBeVisible();
  const start = screen.getByRole('button', { name: 'Start the run' });
  await waitFor(() => expect(start).toBeEnabled());
  await userEvent.click(start);
  await waitFor(() => expect(started).toMatchObject([{ target: 'mariadb', base: path }]));
});

it('choices have their plain names first', async () => {
  await open();
  const objective = screen.getByRole('combobox', { name: 'Objective' });
  expect(objective).toHaveValue('Mean goodput over the ladder');
  await userEvent.click(objective);
  expect(
    await screen.findByRole('option', { name: 'Mean goodput over the ladder (condensed-area)' }),
  ).toBeVisible();
});
