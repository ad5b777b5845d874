// What goes on and what came out last, and a button that tunes; before the first run, what this is.

import { Skeleton } from '@mantine/core';
import { useHost } from '../../api/useHost';
import { useProgress } from '../../api/useProgress';
import { useRuns } from '../../api/useRuns';
import { Figure, FigureList } from '../../components/Figure';
import { Loadable } from '../../components/Loadable';
import { TextLink } from '../../components/links';
import { NoRuns } from '../../components/NoRuns';
import { Panel } from '../../components/Panel';
import { RunTable } from '../../components/RunTable';
import { formatBytes, formatCount } from '../../maths/format';
import { CheckedFile } from './CheckedFile';
import classes from './HomePage.module.css';
import { LastRun } from './LastRun';
import { RunningNow } from './RunningNow';
import { StartServer } from './StartServer';

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
  const newest = runs.data?.runs[0];
  return (
    <div className={classes.page}>
      <title>Trimtab</title>
      {progress || newest ? (
        <section className={classes.now} aria-labelledby="now-title">
          <h1 id="now-title" className={classes.nowTitle}>
            {host.data ? `Trimtab on ${host.data.name}` : 'Trimtab'}
          </h1>
          {progress && <RunningNow progress={progress} />}
          {!progress && newest && (
            <div className={classes.beside}>
              <div className={classes.column}>
                <LastRun run={newest} />
                <CheckedFile />
              </div>
              <Panel title="Tune a server">
                <StartServer />
              </Panel>
            </div>
          )}
        </section>
      ) : runs.isPending ? (
        <div aria-busy="true">
          <span className="visually-hidden">The last runs: loading</span>
          <Skeleton h={280} radius="sm" />
        </div>
      ) : (
        <Welcome />
      )}
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
              <NoRuns>The quick run above is a good first one.</NoRuns>
            ) : (
              <RunTable runs={rows} />
            )
          }
        </Loadable>
      </Panel>
      {(progress || !newest) && <CheckedFile />}
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

/** What there is to know before the first run. */
function Welcome() {
  return (
    <section className={classes.hero} aria-labelledby="hero-title">
      <div>
        <h1 id="hero-title" className={classes.title}>
          Find the configuration at which a web server performs best on this machine
        </h1>
        <p className={classes.lead}>
          Trimtab runs a real server under a real load, tries its settings, says with an interval how much the
          best ones gain, and hands them back as configuration files.
        </p>
        <StartServer />
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
  );
}
