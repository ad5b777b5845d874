// The host and the server as they are doing right now.

import { Button, SegmentedControl } from '@mantine/core';
import { IconPlayerPauseFilled, IconPlayerPlayFilled } from '@tabler/icons-react';
import { getRouteApi } from '@tanstack/react-router';
import { useActions } from '../../actions/ActionsProvider';
import { useHost } from '../../api/useHost';
import { useProgress } from '../../api/useProgress';
import { trialsOf } from '../../charts/timeView';
import { Message } from '../../components/Message';
import { Page } from '../../components/Page';
import { CpuPanels } from '../../counters/CpuPanels';
import { HostPanels } from '../../counters/HostPanels';
import { LoadPanels } from '../../counters/LoadPanels';
import classes from '../../counters/panelGrid.module.css';
import { ZoomBar } from '../../counters/ZoomBar';
import { doingOf } from '../../maths/doing';
import { type Pause, useLiveView, usePart, usePause } from './useLiveView';
import { useStoredSamples } from './useStoredSamples';
import { WorkersPanel } from './WorkersPanel';
import { LIVE_WINDOWS_S, type LiveWindow } from './windows';

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
          ? `Run ${progress.run_id} is ${doingOf(progress)}.`
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
          <ZoomBar
            whole={whole}
            name="window"
            choices={trialsOf(whole).map(({ trial, ...part }) => ({ label: `Trial ${trial}`, ...part }))}
            zoomed={pause.part !== null}
            onShowAll={() => pause.show(null)}
          />
          <LoadPanels view={view} running={running} />
          <CpuPanels view={view} layout={host.data?.layout} />
          <HostPanels view={view} />
          <WorkersPanel workers={view.store.workers} />
        </div>
      )}
    </>
  );
}
