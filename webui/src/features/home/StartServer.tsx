// The button that tunes: the servers that are installed here, each from what its own file sets.

import { Button, Radio } from '@mantine/core';
import { IconPlayerPlayFilled } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useActions } from '../../actions/ActionsProvider';
import type { TargetReply } from '../../api/generated';
import { getTargetsOptions } from '../../api/generated/@tanstack/react-query.gen';
import { useEstimate } from '../../api/useEstimate';
import { useStartAndWatch } from '../../api/useStartAndWatch';
import { CopyText } from '../../components/CopyText';
import { KnobChips } from '../../components/KnobChips';
import { Loadable } from '../../components/Loadable';
import { TextLink } from '../../components/links';
import { Message } from '../../components/Message';
import { OwnFileLines } from '../../components/OwnFileLines';
import { StartFailure } from '../../components/StartFailure';
import { formatCount, formatDuration } from '../../maths/format';
import classes from './HomePage.module.css';
import { beginsWithFile, offered, quickRun } from './offered';

export function StartServer() {
  const targets = useQuery(getTargetsOptions());
  return (
    <Loadable query={targets} what="The servers that are installed" height={160}>
      {(data) => <Choice targets={data} />}
    </Loadable>
  );
}

function Choice({ targets }: { targets: readonly TargetReply[] }) {
  const servers = offered(targets);
  const [chosen, setChosen] = useState('');
  const server = servers.find(({ name }) => name === chosen) ?? servers[0];
  const absent = targets.filter(({ missing }) => missing !== '');
  if (server === undefined) {
    return (
      <Message tone="warn" title="There is no server to tune.">
        {absent.map(({ name, missing }) => (
          <p key={name}>{missing}</p>
        ))}
      </Message>
    );
  }
  return (
    <div className={classes.choice}>
      {servers.length > 1 && (
        <Radio.Group label="Server" value={server.name} onChange={setChosen}>
          <div className={classes.servers}>
            {servers.map(({ name, help, file }) => (
              <Radio key={name} value={name} label={name} description={file?.path ?? help} />
            ))}
          </div>
        </Radio.Group>
      )}
      <Beaten server={server} />
      <Start key={server.name} server={server} />
      {absent.length > 0 && (
        <p className={classes.hint}>
          Not installed here: {absent.map(({ name }) => name).join(', ')}. <code>trimtab targets</code> says
          how they are.
        </p>
      )}
    </div>
  );
}

/** What the gain is measured over. */
function Beaten({ server }: { server: TargetReply }) {
  const { name, file } = server;
  if (file === null) return <p className={classes.hint}>The gain is measured over the defaults of {name}.</p>;
  const command = `trimtab tune --target ${name} --base ${file.path}`;
  if (file.trouble) {
    return (
      <Message tone="warn" title={`The gain is measured over the defaults of ${name}.`}>
        {file.path}: {file.trouble}
      </Message>
    );
  }
  if (beginsWithFile(server))
    return (
      <p className={classes.hint}>
        The gain is measured over {file.path}, with what it includes; you get this very file back, tuned.
      </p>
    );
  return (
    <>
      <p className={classes.hint}>
        The gain is measured over what {file.path} sets
        {Object.keys(file.values).length > 0 ? ': ' : ', which is none of the knobs.'}
        <KnobChips of={file.values} eachCpu={file.each_cpu} />
      </p>
      <p className={classes.command}>
        <span className={classes.hint}>In a terminal you get this very file back, tuned:</span>
        <code>{command}</code>
        <CopyText text={command} label="Copy" />
      </p>
    </>
  );
}

function Start({ server }: { server: TargetReply }) {
  const spec = quickRun(server);
  const estimate = useEstimate(spec);
  const start = useStartAndWatch();
  const title = `Tune ${server.name}`;
  useActions(estimate.isError ? [] : [{ title: `${title} (quick run)`, run: () => start.begin(spec) }]);
  return (
    <>
      {spec.base && <OwnFileLines spec={spec} />}
      <div className={classes.start}>
        <Button
          size="md"
          leftSection={<IconPlayerPlayFilled size={16} aria-hidden />}
          loading={start.isPending}
          disabled={estimate.isError}
          onClick={() => start.begin(spec)}
        >
          {title}
        </Button>
        <span className={classes.hint}>
          {estimate.data && !estimate.isError && (
            <>
              The quick run: {formatCount(estimate.data.trials)} trials, at most{' '}
              {formatDuration(estimate.data.duration_s)} on a quiet host.{' '}
            </>
          )}
          <TextLink to="/tune" search={{ target: server.name }} size="sm" underline="always">
            Set up another run
          </TextLink>
        </span>
      </div>
      {estimate.error && (
        <Message tone="warn" title={`${server.name} cannot be tuned from what its file sets.`}>
          {estimate.error.message}
        </Message>
      )}
      {start.error && <StartFailure error={start.error} />}
    </>
  );
}
