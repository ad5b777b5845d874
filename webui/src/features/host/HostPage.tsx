// The machine: where its CPUs, caches, network queues and interrupts are, plans that bring them together, and the kernel.

import { useHost } from '../../api/useHost';
import { Loadable } from '../../components/Loadable';
import { Page } from '../../components/Page';
import { formatBytes } from '../../maths/format';
import { AffinityPanel } from './AffinityPanel';
import { InterruptsPanel } from './InterruptsPanel';
import { KernelPanel } from './KernelPanel';
import { TopologyPanel } from './TopologyPanel';
import { useTopology } from './useAffinity';

export function HostPage() {
  const host = useHost();
  const topology = useTopology();
  return (
    <Page
      title="Host"
      description={
        host.data &&
        `${host.data.name}: ${host.data.cpus} CPUs (${host.data.cpu_model}), ${formatBytes(host.data.memory_bytes)} memory, Linux ${host.data.kernel}. During a run: ${host.data.layout_sentence}; ${host.data.layout.reason}.`
      }
    >
      <Loadable query={topology} what="The topology" height={420}>
        {(data) => (
          <>
            <TopologyPanel topology={data} layout={host.data?.layout} />
            <InterruptsPanel topology={data} />
            <AffinityPanel topology={data} />
            <KernelPanel />
          </>
        )}
      </Loadable>
    </Page>
  );
}
