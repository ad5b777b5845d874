// The host and the server as they are doing right now.

import { Button, NativeSelect, SegmentedControl } from '@mantine/core';
import { IconPlayerPauseFilled, IconPlayerPlayFilled } from '@tabler/icons-react';
import { getRouteApi } from '@tanstack/react-router';
import { useActions } from '../../actions/ActionsProvider';
import { LIVE_WINDOWS_S, type LiveWindow } from '../../app/liveWindows';
import { type TimeView, trialsOf } from '../../charts/timeView';
import { Message } from '../../components/Message';
import { Page } from '../../components/Page';
import { useHost } from '../../hooks/useHost';
import { useProgress } from '../../hooks/useProgress';
import { useStoredSamples } from '../../hooks/useStoredSamples';
import { type Pause, useLiveView, usePart, usePause } from '../../live/useLiveView';
import { CpuPanels } from '../../panels/CpuPanels';
import { HostPanels } from '../../panels/HostPanels';
import { LoadPanels } from '../../panels/LoadPanels';
import classes from '../../panels/panelGrid.module.css';
import pageClasses from './LivePage.module.css';
import { WorkersPanel } from './WorkersPanel';

const route = getRouteApi('/live');
const DEFAULT_WINDOW: LiveWindow = 300;

export function LivePage() {
  const { window = DEFAULT_WINDOW } = route.useSearch();
  const navigate = route.useNavigate();
  const progress = useProgress();
  const pause = usePause();
  const { frozen, setPaused } = pause;
  const paused = frozen !== null;
  const stored = useStoredSamples(window, !paused);
  const show = (seconds: LiveWindow) => {
    pause.show(null);
    return navigate({ search: { window: seconds }, replace: true, resetScroll: false });
  };
  useActions([
    { title: paused ? 'Go on' : 'Pause', keys: 'p', run: () => setPaused(!paused) },
    ...LIVE_WINDOWS_S.map((seconds, index) => ({
      title: `Show the last ${seconds / 60} min`,
      keys: String(index + 1),
      run: () => void show(seconds),
    })),
  ]);
  return (
    <Page
      title="Live"
      description={
        progress
          ? `Run ${progress.run_id} is ${progress.phase}.`
          : 'No run is going on; the counters of the host go on all the same.'
      }
      actions={
        <>
          <SegmentedControl
            size="xs"
            aria-label="Window"
            value={String(window)}
            onChange={(value) => show(Number(value) as LiveWindow)}
            data={LIVE_WINDOWS_S.map((seconds) => ({ value: String(seconds), label: `${seconds / 60} min` }))}
          />
          <Button
            size="xs"
            variant={paused ? 'filled' : 'default'}
            leftSection={
              paused ? (
                <IconPlayerPlayFilled size={14} aria-hidden />
              ) : (
                <IconPlayerPauseFilled size={14} aria-hidden />
              )
            }
            onClick={() => setPaused(!paused)}
          >
            {paused ? 'Go on' : 'Pause'}
          </Button>
        </>
      }
    >
      {stored.isError && (
        <Message tone="warn" title="The stored samples could not be loaded; the charts begin now.">
          {stored.error.message}
        </Message>
      )}
      <Charts window={window} pause={pause} running={progress !== null} />
    </Page>
  );
}

/** What moves: apart from the head of the page, which does not. */
function Charts({ window, pause, running }: { window: LiveWindow; pause: Pause; running: boolean }) {
  const host = useHost();
  const whole = useLiveView(window, pause);
  const view = usePart(whole, pause);
  return (
    <>
      {Object.entries(view.store.missing).map(([source, reason]) => (
        <Message key={source} tone="warn" title={`The counters of "${source}" are missing.`}>
          {reason}
        </Message>
      ))}
      {Number.isNaN(view.now) ? (
        <Message title="Waiting for the first sample.">Samples come once a second.</Message>
      ) : (
        <div className={classes.grid}>
          <Zoom whole={whole} pause={pause} />
          <LoadPanels view={view} running={running} />
          <CpuPanels view={view} layout={host.data?.layout} />
          <HostPanels view={view} />
          <WorkersPanel workers={view.store.workers} />
        </div>
      )}
    </>
  );
}

/** What a drag over a chart does too: shows one trial, or all of the window again. */
function Zoom({ whole, pause: { part, show } }: { whole: TimeView; pause: Pause }) {
  const trials = trialsOf(whole);
  return (
    <div className={pageClasses.zoom}>
      <span>Drag over a chart to look closer; all charts show the same time.</span>
      {trials.length > 0 && (
        <NativeSelect
          size="xs"
          aria-label="Look closer at"
          value=""
          data={[
            { value: '', label: 'Look closer at…' },
            ...trials.map(({ trial, from }) => ({ value: String(from), label: `Trial ${trial}` })),
          ]}
          onChange={(event) => {
            const chosen = trials.find(({ from }) => String(from) === event.currentTarget.value);
            if (chosen) whole.onZoom?.(chosen.from, chosen.to);
          }}
        />
      )}
      {part && (
        <Button size="xs" variant="default" onClick={() => show(null)}>
          Show all of the window
        </Button>
      )}
    </div>
  );
}
