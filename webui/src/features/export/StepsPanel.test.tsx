import { screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { renderInApp } from '../../test/render';
import { StepsPanel } from './StepsPanel';

const file = { file_name: 'nginx.conf', check_ok: true, check_command: 'nginx -t -c nginx.conf' };

it('says in three steps what to do with the file, and where it belongs', async () => {
  await renderInApp(<StepsPanel file={file} base="/etc/nginx/nginx.conf" />);
  const steps = screen.getAllByRole('listitem');
  expect(steps).toHaveLength(3);
  expect(steps[1]).toHaveTextContent('download nginx.conf to /etc/nginx/nginx.conf');
  expect(steps[1]).toHaveTextContent('has accepted it');
});

it('warns of a file that the server’s own check has refused', async () => {
  await renderInApp(<StepsPanel file={{ ...file, check_ok: false }} base={null} />);
  expect(screen.getAllByRole('listitem')[1]).toHaveTextContent('has refused it here');
});
