import { act, cleanup, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { HttpResponse, http } from 'msw';
import { useState } from 'react';
import { expect, it } from 'vitest';
import type { RunDetail } from '../../api/generated';
import { progress, run } from '../../test/records';
import { api, renderInApp, url } from '../../test/render';
import { RunActions } from './RunActions';

it('asks a running run to stop and says that it is stopping', async () => {
  let asked = 0;
  api.use(
    http.post(url('/runs/7/stop'), () => {
      asked += 1;
      return HttpResponse.json(run(), { status: 202 });
    }),
  );
  await renderInApp(<RunActions run={run()} progress={null} />);
  expect(screen.queryByRole('button', { name: 'Resume' })).toBeNull();
  await userEvent.click(screen.getByRole('button', { name: 'Stop' }));
  expect(await screen.findByRole('button', { name: 'Stopping' })).toBeDisabled();
  await waitFor(() => expect(asked).toBe(1));
});

it('offers to resume what was interrupted, and says why when it cannot', async () => {
  api.use(
    http.post(url('/runs/7/resume'), () =>
      HttpResponse.json(
        { error: { code: 'run-conflict', message: 'run 8 is running', field: null } },
        { status: 409 },
      ),
    ),
  );
  await renderInApp(<RunActions run={run({ state: 'interrupted' })} progress={null} />);
  await userEvent.click(screen.getByRole('button', { name: 'Resume' }));
  expect(await screen.findByRole('alert')).toHaveTextContent('run 8 is running');
});

it('says what has changed since the run began, and resumes all the same when told to', async () => {
  const asked: (string | null)[] = [];
  api.use(
    http.post(url('/runs/7/resume'), ({ request }) => {
      const evenIfChanged = new URL(request.url).searchParams.get('even_if_changed');
      asked.push(evenIfChanged);
      return evenIfChanged === 'true'
        ? HttpResponse.json(run(), { status: 202 })
        : HttpResponse.json(
            { error: { code: 'run-changed', message: 'the kernel: was 6.1, is 6.18', field: null } },
            { status: 409 },
          );
    }),
  );
  await renderInApp(<RunActions run={run({ state: 'stopped' })} progress={null} />);
  expect(screen.queryByRole('button', { name: 'Resume anyway' })).toBeNull();
  await userEvent.click(screen.getByRole('button', { name: 'Resume' }));
  expect(await screen.findByRole('alert')).toHaveTextContent('the kernel: was 6.1, is 6.18');
  await userEvent.click(screen.getByRole('button', { name: 'Resume anyway' }));
  await waitFor(() => expect(screen.queryByRole('alert')).toBeNull());
  expect(asked).toEqual(['false', 'true']);
});

it('has neither for a finished run, only the archive, the way to delete it and that to its exports', async () => {
  await renderInApp(<RunActions run={run({ state: 'finished' })} progress={null} />);
  expect(screen.getAllByRole('button').map(({ textContent }) => textContent)).toEqual(['Archive', 'Delete']);
  expect(screen.getByRole('link', { name: 'Exports' })).toHaveAttribute('href', '/runs/7/export');
});

it('pauses a running run, and offers to go on once that is asked for', async () => {
  let asked = 0;
  api.use(
    http.post(url('/runs/7/pause'), () => {
      asked += 1;
      return HttpResponse.json(run(), { status: 202 });
    }),
  );
  await renderInApp(<RunActions run={run()} progress={progress()} />);
  await userEvent.click(screen.getByRole('button', { name: 'Pause' }));
  await waitFor(() => expect(asked).toBe(1));
  cleanup();
  await renderInApp(<RunActions run={run()} progress={progress({ pause: 'requested' })} />);
  expect(screen.queryByRole('button', { name: 'Pause' })).toBeNull();
  expect(screen.getByRole('button', { name: 'Resume' })).toBeEnabled();
});

/** The actions of a run whose state a test changes, as the live stream does. */
function follow() {
  let change = (_: Partial<RunDetail>) => {};
  function Followed() {
    const [record, setRecord] = useState(run());
    change = (changed) => setRecord({ ...record, ...changed });
    return <RunActions run={record} progress={null} />;
  }
  return { page: <Followed />, change: (changed: Partial<RunDetail>) => act(() => change(changed)) };
}

it('can be stopped again once somebody else has resumed what was stopped here', async () => {
  api.use(http.post(url('/runs/7/stop'), () => HttpResponse.json(run(), { status: 202 })));
  const { page, change } = follow();
  await renderInApp(page);
  await userEvent.click(screen.getByRole('button', { name: 'Stop' }));
  await screen.findByRole('button', { name: 'Stopping' });
  change({ state: 'stopped' });
  change({ state: 'running' });
  expect(await screen.findByRole('button', { name: 'Stop' })).toBeEnabled();
});

it('says why a paused run does not go on', async () => {
  api.use(
    http.post(url('/runs/7/resume'), () =>
      HttpResponse.json(
        { error: { code: 'database-read-only', message: 'the database takes no record', field: null } },
        { status: 503 },
      ),
    ),
  );
  await renderInApp(<RunActions run={run()} progress={progress({ pause: 'yes' })} />);
  await userEvent.click(screen.getByRole('button', { name: 'Resume' }));
  expect(await screen.findByRole('alert')).toHaveTextContent('the database takes no record');
});

it('puts a run that has ended into the archive, and takes it back out', async () => {
  const asked: unknown[] = [];
  api.use(
    http.patch(url('/runs/7'), async ({ request }) => {
      asked.push(await request.json());
      return HttpResponse.json(run({ state: 'finished', archived: true }));
    }),
  );
  await renderInApp(<RunActions run={run({ state: 'finished' })} progress={null} />);
  await userEvent.click(screen.getByRole('button', { name: 'Archive' }));
  await waitFor(() => expect(asked).toEqual([{ archived: true }]));
  cleanup();
  await renderInApp(<RunActions run={run({ state: 'finished', archived: true })} progress={null} />);
  await userEvent.click(screen.getByRole('button', { name: 'Take out of the archive' }));
  await waitFor(() => expect(asked).toEqual([{ archived: true }, { archived: false }]));
});

it('has the report of a run that has ended, and of no other, and deletes no run that goes on', async () => {
  await renderInApp(<RunActions run={run({ state: 'finished' })} progress={null} />);
  expect(screen.getByRole('link', { name: 'Report' })).toHaveAttribute('href', '/api/v1/runs/7/report.html');
  cleanup();
  await renderInApp(<RunActions run={run()} progress={null} />);
  expect(screen.queryByRole('link', { name: 'Report' })).toBeNull();
  expect(screen.queryByRole('button', { name: 'Archive' })).toBeNull();
  expect(screen.queryByRole('button', { name: 'Delete' })).toBeNull();
});
