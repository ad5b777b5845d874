// Affinity plans: what each would set, before and after; apply, restore; who else moves interrupts.

import { Button, MultiSelect, NumberInput, SegmentedControl, Table } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useActions } from '../../actions/ActionsProvider';
import type { AffinityStatus, Applied, MeasuredPlans, PlanRequest, Topology } from '../../api/generated';
import { getAffinityOptions, getMeasuredPlansOptions } from '../../api/generated/@tanstack/react-query.gen';
import { useProgress } from '../../api/useProgress';
import { Loadable } from '../../components/Loadable';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import classes from './Host.module.css';
import { useAffinityActions, usePlan } from './useAffinity';

const PLANS: readonly { name: PlanRequest['plan']; help: string }[] = [
  { name: 'none', help: 'Neither workers nor interrupts are tied to CPUs.' },
  { name: 'process', help: 'Each worker stays on one CPU; interrupts go where they go.' },
  { name: 'interrupt', help: 'Each receive queue is served by one CPU; workers go where they go.' },
  { name: 'aligned', help: 'A queue and a worker share each CPU: what arrives there is served there.' },
  {
    name: 'misaligned',
    help: 'Queues and workers are kept on different CPUs, to see what alignment is worth.',
  },
];

export function AffinityPanel({ topology }: { topology: Topology }) {
  // What is set can be seen and put back whether or not that is known; once it is, its best is chosen.
  const { data } = useQuery(getMeasuredPlansOptions());
  return <Plans topology={topology} measured={data} />;
}

function Plans({ topology, measured }: { topology: Topology; measured: MeasuredPlans | undefined }) {
  const usable = topology.devices.filter(({ queues }) => queues.some(({ direction }) => direction === 'rx'));
  /** Null until its user has chosen one: what is learnt later of the measured ones changes no choice. */
  const [chosen, setChosen] = useState<PlanRequest['plan'] | null>(null);
  const plan = chosen ?? measured?.best ?? 'none';
  const [devices, setDevices] = useState<string[]>(() =>
    usable.filter(({ up, driver }) => up && driver !== null).map(({ name }) => name),
  );
  const [workers, setWorkers] = useState<string | number>(1);
  const request: PlanRequest = { plan, devices, workers: Number(workers) || 1 };
  const preview = usePlan(request, devices.length > 0 || plan === 'none' || plan === 'process');
  const { apply, restore } = useAffinityActions();
  const running = useProgress() !== null;
  const applicable = !running && preview.data !== undefined && preview.data.settings.length > 0;
  useActions(
    applicable ? [{ title: `Apply the plan: ${plan}`, run: () => apply.mutate({ body: request }) }] : [],
  );
  const narrow = useMediaQuery('(max-width: 40rem)');
  return (
    <>
      <Panel title="Affinity plan" description={PLANS.find(({ name }) => name === plan)?.help}>
        <div className={classes.form}>
          <SegmentedControl
            aria-label="Plan"
            orientation={narrow ? 'vertical' : 'horizontal'}
            value={plan}
            data={PLANS.map(({ name }) => name)}
            onChange={(name) => setChosen(name as PlanRequest['plan'])}
          />
          {measured && <p className={classes.dimmed}>{measured.reason}</p>}
          <div className={classes.fields}>
            <MultiSelect
              label="Devices"
              description="Whose receive queues are placed."
              data={usable.map(({ name }) => name)}
              value={devices}
              onChange={setDevices}
            />
            <NumberInput
              label="Workers"
              description="How many workers the server will have."
              min={1}
              max={4096}
              allowDecimal={false}
              value={workers}
              onChange={setWorkers}
            />
          </div>
          {preview.fetchStatus === 'idle' && preview.data === undefined && !preview.isError ? (
            <Message title="Choose a device: this plan places its receive queues." />
          ) : (
            <Loadable query={preview} what="The plan" height={160}>
              {(planned) => (
                <>
                  <p className={classes.sentence}>{planned.sentence}</p>
                  {planned.settings.length === 0 ? (
                    <Message title="It changes nothing on this host." />
                  ) : (
                    <SettingsTable label="What the plan sets" settings={planned.settings} />
                  )}
                </>
              )}
            </Loadable>
          )}
          <div className={classes.actions}>
            <Button
              disabled={!applicable}
              loading={apply.isPending}
              onClick={() => apply.mutate({ body: request })}
            >
              Apply
            </Button>
            {running && <span className={classes.dimmed}>Not while a run is going on.</span>}
            {apply.data && (
              <span role="status" className={classes.dimmed}>
                {outcomeOf(apply.data.settings)}
              </span>
            )}
            {apply.error && (
              <span role="alert" className={classes.failed}>
                {apply.error.message}
              </span>
            )}
          </div>
        </div>
      </Panel>
      <InForce running={running} restore={restore} />
    </>
  );
}

function outcomeOf(settings: readonly Applied[]): string {
  const refused = settings.filter(({ state }) => state === 'refused');
  return refused.length === 0
    ? `Applied: ${settings.length} settings were set and read back.`
    : `${settings.length - refused.length} settings were applied, ${refused.length} refused; the table says why.`;
}

function InForce({
  running,
  restore,
}: {
  running: boolean;
  restore: ReturnType<typeof useAffinityActions>['restore'];
}) {
  const status = useQuery(getAffinityOptions());
  const restorable = !running && status.data !== undefined && status.data.settings.length > 0;
  useActions(restorable ? [{ title: 'Restore everything', run: () => restore.mutate({}) }] : []);
  return (
    <Panel
      title="In force"
      description="Every setting is written down before it is touched, and stays until you restore it or the machine is booted."
      actions={
        <Button
          variant="default"
          size="xs"
          disabled={!restorable}
          loading={restore.isPending}
          onClick={() => restore.mutate({})}
        >
          Restore everything
        </Button>
      }
    >
      <Loadable query={status} what="What is in force" height={80}>
        {(data) => <Status status={data} />}
      </Loadable>
      {restore.error && (
        <p role="alert" className={classes.failed}>
          {restore.error.message}
        </p>
      )}
    </Panel>
  );
}

function Status({ status }: { status: AffinityStatus }) {
  return (
    <div className={classes.form}>
      {status.settings.length === 0 ? (
        <Message title="Trimtab has changed nothing on this host." />
      ) : (
        <SettingsTable label="Settings in force" settings={status.settings} />
      )}
      {status.drift.map((sentence) => (
        <Message key={sentence} tone="warn" title="Somebody else has changed a setting.">
          {sentence}
        </Message>
      ))}
      {status.balancers.length === 0 ? (
        <p className={classes.dimmed}>
          Neither irqbalance nor TuneD is running, which would move interrupts.
        </p>
      ) : (
        status.balancers.map(({ name, pid, would_undo }) => (
          <Message key={pid} tone="warn" title={`${name} is running (process ${pid}).`}>
            {would_undo}
          </Message>
        ))
      )}
    </div>
  );
}

function SettingsTable({ label, settings }: { label: string; settings: readonly Applied[] }) {
  return (
    <ScrollTable label={label}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Setting</Table.Th>
          <Table.Th>Before</Table.Th>
          <Table.Th>After</Table.Th>
          <Table.Th>State</Table.Th>
          <Table.Th>Why</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {settings.map(({ path, before, after, state, reason, why }) => (
          <Table.Tr key={path}>
            <Table.Td>
              <code>{path}</code>
            </Table.Td>
            <Table.Td>{before ?? '–'}</Table.Td>
            <Table.Td>{after}</Table.Td>
            <Table.Td className={state === 'refused' ? classes.failed : undefined}>
              {reason ? `${state}: ${reason}` : state}
            </Table.Td>
            <Table.Td>{why}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ScrollTable>
  );
}
