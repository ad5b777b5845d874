// The trial's time as charts, with the boundaries of its rates.

import { useMemo } from 'react';
import type { CounterSampleReply, RunDetail, TrialDetail } from '../../api/generated';
import { Loadable } from '../../components/Loadable';
import { Message } from '../../components/Message';
import { useTrialCounters } from '../../hooks/useTrial';
import { LiveStore } from '../../live/liveStore';
import { formatElapsed } from '../../maths/ticks';
import { CpuPanels } from '../../panels/CpuPanels';
import { HostPanels } from '../../panels/HostPanels';
import { LoadPanels } from '../../panels/LoadPanels';
import grid from '../../panels/panelGrid.module.css';

export function CountersOverTime({ run, trial }: { run: RunDetail; trial: TrialDetail }) {
  const samples = useTrialCounters(run.id, trial.number);
  return (
    <Loadable query={samples} what="The counters of the trial" height={240}>
      {(rows) =>
        rows.length < 2 ? (
          <Message title="There are no counters over time.">
            They are taken once a second; this trial was shorter, or they could not be kept.
          </Message>
        ) : (
          <Charts run={run} samples={rows} />
        )
      }
    </Loadable>
  );
}

function Charts({ run, samples }: { run: RunDetail; samples: readonly CounterSampleReply[] }) {
  const view = useMemo(() => {
    const store = new LiveStore(2 * samples.length + 10);
    store.addHistory(samples.map(({ values }) => values));
    const window = Math.max(1, Math.ceil(store.span));
    return {
      past: true as const,
      store,
      now: store.now,
      window,
      marks: store.marks(store.now, window),
      formatTime: (x: number) => formatElapsed(x + window),
    };
  }, [samples]);
  return (
    <section aria-label="Counters over time" className={grid.grid}>
      <LoadPanels view={view} running={false} />
      <CpuPanels view={view} layout={run.layout} />
      <HostPanels view={view} />
    </section>
  );
}
