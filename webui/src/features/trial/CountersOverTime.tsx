// The trial's time as charts, with the boundaries of its rates.

import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { CounterSampleReply, RunDetail, TrialDetail } from '../../api/generated';
import { getTrialCountersOptions } from '../../api/generated/@tanstack/react-query.gen';
import { ratesOf, type Stretch, type TimeView, viewOfPart } from '../../charts/timeView';
import { Loadable } from '../../components/Loadable';
import { Message } from '../../components/Message';
import { CpuPanels } from '../../counters/CpuPanels';
import { HostPanels } from '../../counters/HostPanels';
import { LoadPanels } from '../../counters/LoadPanels';
import grid from '../../counters/panelGrid.module.css';
import { ZoomBar } from '../../counters/ZoomBar';
import { rungsOf } from '../../maths/rungs';
import { formatElapsed } from '../../maths/ticks';
import { SampleStore } from '../../samples/sampleStore';

export function CountersOverTime({ run, trial }: { run: RunDetail; trial: TrialDetail }) {
  const samples = useQuery({
    ...getTrialCountersOptions({ path: { run_id: run.id, number: trial.number } }),
    staleTime: Number.POSITIVE_INFINITY,
  });
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
  const [part, setPart] = useState<Stretch | null>(null);
  const whole = useMemo((): TimeView => {
    const store = new SampleStore(2 * samples.length + 10);
    store.addHistory(samples.map(({ values }) => values));
    const { now } = store;
    const window = Math.max(1, Math.ceil(store.span));
    return viewOfPart({ store }, { now, window }, (time) => formatElapsed(time - now + window), setPart);
  }, [samples]);
  const view = useMemo(() => {
    const begin = whole.now - whole.window;
    return part === null ? whole : viewOfPart(whole, part, (time) => formatElapsed(time - begin), setPart);
  }, [whole, part]);
  const { format } = rungsOf(run.loop);
  return (
    <section aria-label="Counters over time" className={grid.grid}>
      <ZoomBar
        whole={whole}
        name="trial"
        choices={ratesOf(whole).map(({ rate, ...place }) => ({ label: format(rate), ...place }))}
        zoomed={part !== null}
        onShowAll={() => setPart(null)}
      />
      <LoadPanels view={view} running={false} />
      <CpuPanels view={view} layout={run.layout} />
      <HostPanels view={view} />
    </section>
  );
}
