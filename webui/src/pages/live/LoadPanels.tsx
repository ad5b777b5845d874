import { TimeChart } from '../../charts/TimeChart';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import type { LoadColumn } from '../../live/liveStore';
import { formatMicroseconds, formatSi } from '../../maths/format';
import type { View } from './view';

const mbps = (value: number) => formatSi(value * 1e6, 'bit/s');
const perSecond = (value: number) => formatSi(value, 'req/s');
const milliseconds = (value: number) => formatMicroseconds(value * 1000);

/** What the load generator sees: goodput, reply rate and latency, while it drives a rate. */
export function LoadPanels({ store, now, window, running }: View & { running: boolean }) {
  const points = (column: LoadColumn) => store.loadPoints(column, now, window);
  const goodput = points('goodput');
  if (goodput.length === 0) {
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
        <TimeChart
          label="Goodput in bits per second"
          series={[{ label: 'goodput', points: goodput }]}
          windowSeconds={window}
          format={mbps}
        />
      </Panel>
      <Panel title="Reply rate" description="Replies of any kind, as the load generator sees them.">
        <TimeChart
          label="Replies per second"
          series={[{ label: 'replies', points: points('replyRate') }]}
          windowSeconds={window}
          format={perSecond}
        />
      </Panel>
      <Panel title="Latency" description="Of whole replies, from the intended start of the request.">
        <TimeChart
          label="Latency of replies"
          series={[
            { label: 'p50', points: points('p50') },
            { label: 'p99', points: points('p99') },
          ]}
          windowSeconds={window}
          format={milliseconds}
        />
      </Panel>
    </>
  );
}
