import { TimeChart } from '../charts/TimeChart';
import { Message } from '../components/Message';
import { Panel } from '../components/Panel';
import type { ScalarColumn } from '../live/columns';
import { formatMicroseconds, formatSi } from '../maths/format';
import type { View } from './view';

const mbps = (value: number) => formatSi(value * 1e6, 'bps');
const perSecond = (value: number) => formatSi(value, 'req/s');
const microseconds = (value: number) => formatMicroseconds(value);

/** What the load generator sees: goodput, reply rate and latency, while it drives a rate. */
export function LoadPanels({ running, ...view }: View & { running: boolean }) {
  const { store, now, window, marks, formatTime } = view;
  const points = (column: ScalarColumn) => store.points(column, now, window);
  const goodput = points('goodput');
  const chart = { windowSeconds: window, marks, formatTime };
  if (!goodput.some(({ y }) => !Number.isNaN(y))) {
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
  const latencies = [
    { label: 'p50', points: points('p50') },
    { label: 'p90', points: points('p90') },
    { label: 'p99', points: points('p99') },
    { label: 'p99.9', points: points('p999') },
  ].filter((one) => one.points.some(({ y }) => !Number.isNaN(y)));
  return (
    <>
      <Panel title="Goodput" description="Replies completed in time, as the load generator sees them.">
        <TimeChart
          {...chart}
          label="Goodput in bits per second"
          series={[{ label: 'goodput', points: goodput }]}
          format={mbps}
        />
      </Panel>
      <Panel title="Reply rate" description="What is offered, and replies of any kind.">
        <TimeChart
          {...chart}
          label="Requests offered and replies per second"
          series={[
            { label: 'replies', points: points('replyRate') },
            { label: 'offered', points: points('rate') },
          ]}
          format={perSecond}
        />
      </Panel>
      <Panel title="Latency" description="Of whole replies, from the intended start of the request.">
        <TimeChart {...chart} label="Latency of replies" series={latencies} format={microseconds} />
      </Panel>
    </>
  );
}
