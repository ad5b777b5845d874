import { act, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { HttpResponse, http } from 'msw';
import { useState } from 'react';
import { beforeEach, expect, it } from 'vitest';
import { LiveProvider } from '../../stream/LiveProvider';
import { FakeEventSource } from '../../test/fakeEventSource';
import { counterSample } from '../../test/records';
import { api, renderInApp, url } from '../../test/render';
import { useLiveView, usePart, usePause } from './useLiveView';
import { useStoredSamples } from './useStoredSamples';

/** What the Live page has of its charts. */
function Charts() {
  const pause = usePause();
  const { frozen, setPaused } = pause;
  const [window, setWindow] = useState(60);
  useStoredSamples(window, frozen === null);
  const { store, now, ...view } = usePart(useLiveView(window, pause), pause);
  return (
    <>
      <p data-testid="shown">
        {`${now}: ${store.points('runQueue', now, view.window).length} points, ${store.workers.length} workers`}
      </p>
      <button type="button" onClick={() => setPaused(frozen === null)}>
        Pause
      </button>
      <button type="button" onClick={() => view.onZoom?.(-7, -1)}>
        Zoom
      </button>
      <button type="button" onClick={() => setWindow(300)}>
        5 min
      </button>
    </>
  );
}

let asked: number[];
beforeEach(() => {
  FakeEventSource.install();
  asked = [];
  api.use(
    http.get(url('/counters'), ({ request }) => {
      asked.push(Number(new URL(request.url).searchParams.get('seconds')));
      return HttpResponse.json([{ values: counterSample(100) }, { values: counterSample(101) }]);
    }),
  );
});

const comes = (time: number, workers: number) =>
  act(() =>
    FakeEventSource.last.emit('sample', {
      ...counterSample(time),
      server_workers: { workers: Array.from({ length: workers }, (_, worker) => ({ worker })) },
    }),
  );

it('a paused page stands still: no new sample, no other workers, nothing read anew for another window', async () => {
  await renderInApp(
    <LiveProvider>
      <Charts />
    </LiveProvider>,
  );
  const shown = () => screen.getByTestId('shown').textContent;
  await waitFor(() => expect(shown()).toBe('101: 2 points, 0 workers'));
  comes(102, 1);
  expect(shown()).toBe('102: 3 points, 1 workers');
  await userEvent.click(screen.getByRole('button', { name: 'Pause' }));
  comes(103, 4);
  expect(shown()).toBe('102: 3 points, 1 workers');
  await userEvent.click(screen.getByRole('button', { name: '5 min' }));
  comes(104, 4);
  expect(shown()).toBe('102: 3 points, 1 workers');
  expect(asked).toEqual([60]);
  await userEvent.click(screen.getByRole('button', { name: 'Pause' }));
  await waitFor(() => expect(shown()).toBe('104: 5 points, 4 workers'));
  expect(asked).toEqual([60, 300]);
});

it('a part that is chosen stands still, and going on shows all again', async () => {
  await renderInApp(
    <LiveProvider>
      <Charts />
    </LiveProvider>,
  );
  const shown = () => screen.getByTestId('shown').textContent;
  await waitFor(() => expect(shown()).toBe('101: 2 points, 0 workers'));
  for (let time = 102; time <= 120; time += 1) comes(time, 0);
  expect(shown()).toBe('120: 21 points, 0 workers');
  await userEvent.click(screen.getByRole('button', { name: 'Zoom' }));
  expect(shown()).toBe('119: 7 points, 0 workers');
  comes(121, 0);
  expect(shown()).toBe('119: 7 points, 0 workers');
  await userEvent.click(screen.getByRole('button', { name: 'Pause' }));
  await waitFor(() => expect(shown()).toBe('121: 22 points, 0 workers'));
});
