import { screen } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import { target } from '../../test/records';
import { api, renderInApp, url } from '../../test/render';
import { CheckedFile } from './CheckedFile';

const FOUND = {
  rule: 'backlog-above-somaxconn',
  severity: 'warning',
  sentence: 'listen 80 backlog=8192: an accept queue of 8,192 is cut to 4,096.',
  evidence: ['net.core.somaxconn = 4096'],
  suggestion: 'sysctl net.core.somaxconn=8192',
  file: '/etc/nginx/sites-enabled/shop',
  line: 4,
};

const here = (found: readonly unknown[], trouble = '') => {
  const file = { path: '/etc/nginx/nginx.conf', values: {}, each_cpu: {}, trouble: '' };
  api.use(
    http.get(url('/targets'), () => HttpResponse.json([target('core'), target('nginx', { file })])),
    http.get(url('/targets/nginx/check'), () =>
      HttpResponse.json({
        path: file.path,
        check_command: 'nginx -t -c /etc/nginx/nginx.conf',
        found,
        trouble,
      }),
    ),
  );
};

it('shows each finding with its line, its evidence and what to do', async () => {
  here([FOUND]);
  await renderInApp(<CheckedFile />);
  expect(await screen.findByText(FOUND.sentence)).toBeInTheDocument();
  expect(screen.getByText('/etc/nginx/sites-enabled/shop:4')).toBeInTheDocument();
  expect(screen.getByText(/net\.core\.somaxconn = 4096 · sysctl/)).toBeInTheDocument();
  expect(screen.getByText('trimtab check /etc/nginx/nginx.conf')).toBeInTheDocument();
});

it('says so where nothing contradicts', async () => {
  here([]);
  await renderInApp(<CheckedFile />);
  expect(await screen.findByText('Nothing in it contradicts this machine.')).toBeInTheDocument();
  expect(screen.getByText(/The server was not asked:/)).toBeInTheDocument();
  expect(screen.getByText('nginx -t -c /etc/nginx/nginx.conf')).toBeInTheDocument();
});

it('says why nothing is known of a file that could not be read', async () => {
  here([], 'It could not be read.');
  await renderInApp(<CheckedFile />);
  expect(await screen.findByText('It could not be read.')).toBeInTheDocument();
});

it('is not there where no server has a file', async () => {
  api.use(http.get(url('/targets'), () => HttpResponse.json([target('core')])));
  await renderInApp(<CheckedFile />);
  expect(screen.queryByText('Your file on this machine')).toBeNull();
});
