// What this is, on which machine, and what came out so far; one button starts.

import { Button } from '@mantine/core';
import { IconPlayerPlayFilled } from '@tabler/icons-react';
import { useActions } from '../../actions/ActionsProvider';
import { Figure, FigureList } from '../../components/Figure';
import { Loadable } from '../../components/Loadable';
import { LinkButton, TextLink } from '../../components/links';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { RunTable } from '../../components/RunTable';
import { StartFailure } from '../../components/StartFailure';
import { useEstimate } from '../../hooks/useEstimate';
import { useHost } from '../../hooks/useHost';
import { useProgress } from '../../hooks/useProgress';
import { useStartAndWatch } from '../../hooks/useRunActions';
import { useRuns } from '../../hooks/useRuns';
import { formatBytes, formatCount, formatDuration } from '../../maths/format';
import classes from './HomePage.module.css';

const QUICK = { preset: 'quick' };
const STEPS = [
  ['Calibrate', 'find the load at which the default configuration saturates'],
  ['Search', 'restart the server with one configuration after another and drive it up a ladder of rates'],
  ['Confirm', 'measure the winner and the default again, interleaved, until the gain has an interval'],
  ['Export', 'write the winner as configuration files that the servers themselves accept'],
] as const;

export function HomePage() {
  const host = useHost();
  const runs = useRuns(5);
  const progress = useProgress();
  return (
    <div className={classes.page}>
      <title>Trimtab</title>
      <section className={classes.hero} aria-labelledby="hero-title">
        <div>
          <h1 id="hero-title" className={classes.title}>
            Find the configuration at which a web server performs best on this machine
          </h1>
          <p className={classes.lead}>
            Trimtab runs a real server under a real load, tries its settings, says with an interval how much
            the best ones gain, and hands them back as configuration files.
          </p>
          {progress ? (
            <LinkButton to="/runs/$id" params={{ id: progress.run_id }} size="md">
              Watch run {progress.run_id}
            </LinkButton>
          ) : (
            <QuickStart />
          )}
        </div>
        <ol className={classes.steps}>
          {STEPS.map(([name, what]) => (
            <li key={name}>
              <strong>{name}</strong>
              <span>{what}</span>
            </li>
          ))}
        </ol>
      </section>
      <Panel
        title="Last runs"
        actions={
          <TextLink to="/runs" size="sm">
            All runs
          </TextLink>
        }
      >
        <Loadable query={runs} what="The last runs" height={160}>
          {({ runs: rows }) =>
            rows.length === 0 ? (
              <Message title="There has been no run yet.">The quick run above is a good first one.</Message>
            ) : (
              <RunTable runs={rows} />
            )
          }
        </Loadable>
      </Panel>
      <Panel title="This host">
        <Loadable query={host} what="The host" height={64}>
          {(data) => (
            <FigureList>
              <Figure label="Name" value={data.name} detail={`Linux ${data.kernel}`} />
              <Figure label="CPUs" value={formatCount(data.cpus)} detail={data.cpu_model} />
              <Figure label="Memory" value={formatBytes(data.memory_bytes)} />
              <Figure label="Server" value={cpuList(data.layout.server)} detail="while a run measures" />
              <Figure
                label="Load generator"
                value={cpuList(data.layout.generator)}
                detail={`shared with the agent; ${data.layout.reason}`}
              />
            </FigureList>
          )}
        </Loadable>
      </Panel>
    </div>
  );
}

const cpuList = (cpus: readonly number[]) => `CPU ${cpus.join(', ')}`;

function QuickStart() {
  const estimate = useEstimate(QUICK);
  const start = useStartAndWatch();
  useActions([{ title: 'Start the quick run', run: () => start.begin(QUICK) }]);
  return (
    <>
      <div className={classes.start}>
        <Button
          size="md"
          leftSection={<IconPlayerPlayFilled size={16} aria-hidden />}
          loading={start.isPending}
          onClick={() => start.begin(QUICK)}
        >
          Start the quick run
        </Button>
        <span className={classes.hint}>
          {estimate.data && (
            <>
              {formatCount(estimate.data.trials)} trials, at most {formatDuration(estimate.data.duration_s)}{' '}
              on a quiet host.{' '}
            </>
          )}
          <TextLink to="/tune" size="sm" underline="always">
            Set up another run
          </TextLink>
        </span>
      </div>
      {start.error && <StartFailure error={start.error} />}
    </>
  );
}
