import { TimeChart, type TimeSeries } from '../charts/TimeChart';
import type { TimeView } from '../charts/timeView';
import { Message } from '../components/Message';
import { Panel } from '../components/Panel';
import { formatMbps, formatMicroseconds, formatRate } from '../maths/format';

const GOODPUT: readonly TimeSeries[] = [{ label: 'goodput', column: 'goodput' }];
const REPLIES: readonly TimeSeries[] = [
  { label: 'replies', column: 'replyRate' },
  { label: 'offered', column: 'offered', optional: true },
];
const LATENCIES: readonly TimeSeries[] = [
  { label: 'p50', column: 'p50', optional: true },
  { label: 'p90', column: 'p90', optional: true },
  { label: 'p99', column: 'p99', optional: true },
  { label: 'p99.9', column: 'p999', optional: true },
];

/** What the load generator sees: goodput, reply rate and latency, while it drives a rate. */
export function LoadPanels({ view, running }: { view: TimeView; running: boolean }) {
  const { store, now, window } = view;
  if (!store.points('goodput', now, window).some(({ y }) => !Number.isNaN(y))) {
    return (
      <Panel title="Throughput and latency" wide>
        <Message
          title={
            running ? 'The load generator has not reported yet.' : 'No load has been driven in this window.'
          }
        >
          While a run measures, it reports goodput, reply rate and latency once a second.
        </Message>
      </Panel>
    );
  }
  return (
    <>
      <Panel title="Goodput" description="Replies completed in time, as the load generator sees them.">
        <TimeChart view={view} label="Goodput in Mbps" series={GOODPUT} format={formatMbps} />
      </Panel>
      <Panel title="Reply rate" description="What is offered, and replies of any kind.">
        <TimeChart
          view={view}
          label="Requests offered and replies per second"
          series={REPLIES}
          format={formatRate}
        />
      </Panel>
      <Panel
        title="Latency"
        description="Of whole replies, from the intended start of the request; the axis is logarithmic."
      >
        <TimeChart
          view={view}
          label="Latency of replies"
          series={LATENCIES}
          format={formatMicroseconds}
          logarithmic
        />
      </Panel>
    </>
  );
}
