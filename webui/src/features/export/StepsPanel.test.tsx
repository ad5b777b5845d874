import { screen } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { expect, it } from 'vitest';
import { target } from '../../test/records';
import { api, renderInApp, url } from '../../test/render';
import { StepsPanel } from './StepsPanel';

const file = {
  file_name: 'nginx.conf',
  check_ok: true,
  check_command: 'nginx -t -c nginx.conf',
  steps: ['nginx.conf is yours.', 'Put it there.'],
};
const PATH = '/etc/nginx/nginx.conf';
const here = () =>
  api.use(
    http.get(url('/targets'), () =>
      HttpResponse.json([target('nginx', { file: { path: PATH, values: {}, each_cpu: {}, trouble: '' } })]),
    ),
  );

it('says in three steps what to do with the file, and where it belongs', async () => {
  here();
  await renderInApp(<StepsPanel file={file} target="nginx" base={PATH} />);
  const steps = screen.getAllByRole('listitem');
  expect(steps).toHaveLength(3);
  expect(steps[1]).toHaveTextContent('nginx.conf is yours. Put it there.');
  expect(steps[1]).toHaveTextContent('has accepted it');
  expect(screen.queryByRole('link')).toBeNull();
});

it('leads to a run with the server’s own file where this one began without', async () => {
  here();
  await renderInApp(<StepsPanel file={file} target="nginx" base={null} />);
  const link = await screen.findByRole('link', { name: `Set up a run with ${PATH}` });
  expect(link).toHaveAttribute('href', expect.stringMatching(/\/tune\?target=nginx&base=.*nginx\.conf/));
});

it('warns of a file that the server’s own check has refused', async () => {
  here();
  await renderInApp(<StepsPanel file={{ ...file, check_ok: false }} target="nginx" base={null} />);
  expect(screen.getAllByRole('listitem')[1]).toHaveTextContent('has refused it here');
});
