// The arms side by side over time: what a request costs, how long it takes, what fails, and who gets how much.

import { SegmentedControl } from '@mantine/core';
import { useMemo, useState } from 'react';
import type { LiveSampleReply } from '../../api/generated';
import { TimeChart, type TimeSeries } from '../../charts/TimeChart';
import type { Points, TimeView } from '../../charts/timeView';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import grid from '../../counters/panelGrid.module.css';
import {
  formatCpu,
  formatGain,
  formatMicroseconds,
  formatNumber,
  formatPercent,
  formatPerSecond,
  formatRate,
} from '../../maths/format';
import { ARMS, type ArmFigure, ArmStore } from './armStore';

const WINDOWS_S = [300, 900, 3600] as const;

const arms = (figure: ArmFigure): readonly TimeSeries[] =>
  ARMS.map((arm) => ({ label: arm, column: `${arm}.${figure}`, optional: arm !== 'production' }));
const edges = (metric: 'cost' | 'time' | 'errors'): readonly TimeSeries[] => [
  { label: 'at least', column: `${metric}.low` },
  { label: 'at most', column: `${metric}.high` },
];

const CPU = arms('cpu_s_per_1000');
const SERVICE = arms('service_ms');
const ERRORS = arms('errors_per_s');
const REQUESTS = arms('requests_per_s');
const WAITING = arms('waiting');
const COST_CHANGE = edges('cost');
const TIME_CHANGE = edges('time');
const ERROR_CHANGE = edges('errors');
const SHARE: readonly TimeSeries[] = [{ label: 'canary', column: 'share' }];

const NO_CANDIDATE = 'No candidate was tried in this time.';
const NOT_TOLD = 'The server does not tell it.';

const ofRequest = (perThousand: number) => formatCpu(perThousand / 1000);
const ofMilliseconds = (ms: number) => formatMicroseconds(1000 * ms);
const wholePercent = (share: number) => formatPercent(share);

interface ArmsPanelsProps {
  samples: readonly LiveSampleReply[];
  goesOn: boolean;
  /** Whether the session tries candidates, and not only observes. */
  tries: boolean;
}

export function ArmsPanels({ samples, goesOn, tries }: ArmsPanelsProps) {
  const [window, setWindow] = useState<number>(WINDOWS_S[1]);
  const view = useMemo(() => {
    const store = new ArmStore(samples);
    return { store, now: store.now, window, marks: [], past: true };
  }, [samples, window]);
  if (Number.isNaN(view.now)) {
    return <Message title="There are no samples yet.">The first one comes within ten seconds.</Message>;
  }
  return (
    <div className={grid.grid}>
      <Panel
        wide
        title="Requests"
        description={goesOn ? undefined : 'Until the session ended.'}
        actions={
          <SegmentedControl
            size="xs"
            aria-label="Window"
            value={String(window)}
            data={WINDOWS_S.map((seconds) => ({ value: String(seconds), label: `${seconds / 60} min` }))}
            onChange={(value) => setWindow(Number(value))}
          />
        }
      >
        <TimeChart view={view} label="Requests" series={REQUESTS} format={formatRate} empty={NOT_TOLD} />
      </Panel>
      <Panel title="CPU time per request">
        <TimeChart
          view={view}
          label="CPU time per request"
          series={CPU}
          format={ofRequest}
          empty={NOT_TOLD}
        />
      </Panel>
      <Panel title="Service time">
        <TimeChart
          view={view}
          label="Service time"
          series={SERVICE}
          format={ofMilliseconds}
          empty={NOT_TOLD}
        />
      </Panel>
      <Panel title="Errors" description="Replies 5xx, and those that were aborted.">
        <TimeChart view={view} label="Errors" series={ERRORS} format={formatPerSecond} empty={NOT_TOLD} />
      </Panel>
      {tries && <Candidate view={view} />}
      <Panel title="Waiting connections" description="That no server has accepted yet.">
        <TimeChart
          view={view}
          label="Waiting connections"
          series={WAITING}
          format={formatNumber}
          empty={NOT_TOLD}
        />
      </Panel>
    </div>
  );
}

/** How the candidate compares, and how much it gets. */
function Candidate({ view }: { view: TimeView<Points> }) {
  return (
    <>
      <Panel
        title="Change in CPU time"
        description="Of the canary against the baseline: it lies in this band, at whatever moment one looks."
      >
        <TimeChart
          view={view}
          label="Change in CPU time per request"
          series={COST_CHANGE}
          format={formatGain}
          band
          empty={NO_CANDIDATE}
        />
      </Panel>
      <Panel title="Change in service time" description="Of the canary against the baseline, as a band.">
        <TimeChart
          view={view}
          label="Change in service time"
          series={TIME_CHANGE}
          format={formatGain}
          band
          empty={NO_CANDIDATE}
        />
      </Panel>
      <Panel
        title="Change in errors"
        description="The share of requests that fail in the canary, less that in the baseline, as a band."
      >
        <TimeChart
          view={view}
          label="Change in the share of errors"
          series={ERROR_CHANGE}
          format={formatGain}
          band
          empty={NO_CANDIDATE}
        />
      </Panel>
      <Panel title="Share of the canary" description="The baseline has as much while a candidate is tried.">
        <TimeChart
          view={view}
          label="The canary's share of the connections"
          series={SHARE}
          format={wholePercent}
        />
      </Panel>
    </>
  );
}
