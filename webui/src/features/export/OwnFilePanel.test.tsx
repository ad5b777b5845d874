import { screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import { renderInApp } from '../../test/render';
import { OwnFilePanel } from './OwnFilePanel';

const diff = '--- before/nginx.conf\n+++ tuned/nginx.conf\n@@ -1,2 +1,2 @@\n events {\n-a 1;\n+a 2;\n+b 3;\n';

it('shows added and removed lines with how many there are, in signs and in words', async () => {
  const file = { file_name: 'nginx.conf', diff_base: diff };
  await renderInApp(<OwnFilePanel path="/etc/nginx/nginx.conf" file={file} replaced={[]} />);
  expect(screen.getByText('/etc/nginx/nginx.conf')).toBeVisible();
  expect(screen.getByText(/^Lines added: 2\. Lines removed: 1\./)).toBeVisible();
  const changes = screen.getByRole('region', { name: 'Changes in nginx.conf' });
  expect(within(changes).getByRole('deletion')).toHaveTextContent('removed: -a 1;');
  expect(within(changes).getAllByRole('insertion')[1]).toHaveTextContent('added: +b 3;');
  expect(screen.queryByRole('list')).toBeNull();
});

it('says that nothing was changed, and lists what was replaced to measure', async () => {
  const file = { file_name: 'nginx.conf', diff_base: '' };
  const replaced = ['listen 80 at 127.77.0.1:8000', 'access_log /var/log/a.log to /run/x/access_log-1.log'];
  await renderInApp(<OwnFilePanel path="/srv/own.conf" file={file} replaced={replaced} />);
  expect(screen.getByText('The exported file is your file, byte for byte.')).toBeVisible();
  const list = screen.getByRole('list', { name: 'What else differed in the file that was measured' });
  expect(within(list).getAllByRole('listitem')).toHaveLength(2);
});
