// How long the run will take, and the button that starts it.

import { Button, Table } from '@mantine/core';
import { IconGauge, IconPlayerPlayFilled } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import { useActions } from '../../actions/ActionsProvider';
import { ApiError } from '../../api/errors';
import type { Estimate, RunSpec } from '../../api/generated';
import { useStartAndWatch } from '../../api/useStartAndWatch';
import { CopyText } from '../../components/CopyText';
import { Figure, FigureList } from '../../components/Figure';
import { Loadable } from '../../components/Loadable';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { StartFailure } from '../../components/StartFailure';
import { formatCount, formatDuration } from '../../maths/format';
import classes from './Tune.module.css';

interface EstimatePanelProps {
  spec: RunSpec;
  /** The run that measures what the same server can do as it is. */
  capacity: RunSpec;
  /** Both as commands. */
  commands: { tune: string; capacity: string };
  /** Whether only the command can start it. */
  inTerminal: boolean;
  /** Why this machine cannot carry it out, if so. */
  impossible: string | null;
  estimate: UseQueryResult<Estimate>;
  /** The estimate of `capacity`. */
  climb: UseQueryResult<Estimate>;
  /** Whether the estimate is of `spec` and not of what it was before the last keystroke. */
  settled: boolean;
}

/** Whether the daemon has said that such a run makes no sense; that it could not be asked is another matter. */
const isRefused = ({ error }: UseQueryResult<Estimate>): boolean =>
  error instanceof ApiError && error.status === 422;

export function EstimatePanel(props: EstimatePanelProps) {
  const { spec, capacity, commands, inTerminal, impossible, estimate, climb, settled } = props;
  const start = useStartAndWatch();
  const current = settled && !estimate.isPlaceholderData && !estimate.isFetching;
  const refused = isRefused(estimate);
  const startable = !refused && impossible === null && !inTerminal;
  const measurable = !isRefused(climb) && impossible === null && !inTerminal;
  useActions([
    ...(startable ? [{ title: 'Start the run', run: () => start.begin(spec) }] : []),
    ...(measurable ? [{ title: 'Measure capacity', run: () => start.begin(capacity) }] : []),
  ]);
  return (
    <div className={classes.side}>
      <Panel
        title="Before you start"
        description="At most, if every session runs into its timeout. A busy machine adds to that, as disturbed trials are measured again."
      >
        {refused || impossible ? (
          <Message tone="bad" title="This run cannot work.">
            {impossible ?? estimate.error?.message}
          </Message>
        ) : (
          <Loadable query={estimate} what="The estimate" height={180}>
            {(data) => (
              <div aria-busy={!current} className={classes.estimate}>
                <FigureList narrow>
                  <Figure label="Duration" value={formatDuration(data.duration_s)} />
                  <Figure label="Trials" value={formatCount(data.trials)} />
                </FigureList>
                <Table mt="sm" verticalSpacing={4} fz="sm">
                  <Table.Thead>
                    <Table.Tr>
                      <Table.Th>Phase</Table.Th>
                      <Table.Th ta="right">Trials</Table.Th>
                      <Table.Th ta="right">Duration</Table.Th>
                    </Table.Tr>
                  </Table.Thead>
                  <Table.Tbody>
                    {data.breakdown.map(({ phase, trials, duration_s }) => (
                      <Table.Tr key={phase}>
                        <Table.Td>{phase}</Table.Td>
                        <Table.Td ta="right">{trials === 0 ? '–' : formatCount(trials)}</Table.Td>
                        <Table.Td ta="right">{formatDuration(duration_s)}</Table.Td>
                      </Table.Tr>
                    ))}
                  </Table.Tbody>
                </Table>
              </div>
            )}
          </Loadable>
        )}
        <Button
          fullWidth
          mt="md"
          size="md"
          leftSection={<IconPlayerPlayFilled size={16} aria-hidden />}
          disabled={!startable}
          loading={start.isPending}
          onClick={() => start.begin(spec)}
        >
          Start the run
        </Button>
        <Button
          fullWidth
          mt="sm"
          variant="default"
          leftSection={<IconGauge size={16} aria-hidden />}
          disabled={!measurable || start.isPending}
          onClick={() => start.begin(capacity)}
        >
          Measure capacity
        </Button>
        <p className={classes.aside}>
          {climb.error?.message ??
            `How much load the configuration follows as it is, without a search${climb.data ? `; about ${formatDuration(climb.data.duration_s)}` : ''}.`}
        </p>
        <CommandLine commands={commands} needed={inTerminal} />
        {start.error && (
          <div className={classes.failure}>
            <StartFailure error={start.error} />
          </div>
        )}
      </Panel>
    </div>
  );
}

/** The run as a command: the only way where it uses a file of the host, another one where not. */
function CommandLine({ commands, needed }: { commands: EstimatePanelProps['commands']; needed: boolean }) {
  return (
    <details className={classes.command} open={needed}>
      <summary>{needed ? 'Start it in a terminal of this host' : 'The same in a terminal'}</summary>
      <pre>{commands.tune}</pre>
      <CopyText text={commands.tune} label="Copy command" />
      <p className={classes.aside}>Its capacity alone:</p>
      <pre>{commands.capacity}</pre>
      <CopyText text={commands.capacity} label="Copy command for the capacity" />
    </details>
  );
}
