// The form that attaches live tuning to a server that runs here.

import { Button, Checkbox, Input, NativeSelect, SegmentedControl, Textarea, TextInput } from '@mantine/core';
import { IconPlugConnected } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { AttachSpec, LiveMode, LiveServer } from '../../api/generated';
import {
  attachLiveSessionMutation,
  listLiveSessionsQueryKey,
} from '../../api/generated/@tanstack/react-query.gen';
import { CopyText } from '../../components/CopyText';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import classes from './LiveTuning.module.css';
import { useServers } from './useSession';
import { attachCommand, guardsOf, MODES, serverTitle } from './words';

const EXAMPLES = 'p99 <= 50ms\nerrors <= 0.1%\ncpu <= 80%';
const OBJECTIVES = [
  { value: 'cost', label: 'CPU time per request' },
  { value: 'time', label: 'Service time' },
] as const;

export function AttachPanel() {
  const { data } = useServers();
  const first = data?.find(({ attachable }) => attachable) ?? data?.[0];
  if (data === undefined || first === undefined) return null;
  return (
    <Panel title="Attach to a server" description="At first it only observes, and touches nothing.">
      <AttachForm servers={data} first={first} />
    </Panel>
  );
}

function AttachForm({ servers, first }: { servers: readonly LiveServer[]; first: LiveServer }) {
  const [pid, setPid] = useState(first.pid);
  const [mode, setMode] = useState<LiveMode>('advise');
  const [objective, setObjective] = useState<NonNullable<AttachSpec['objective']>>('cost');
  const [text, setText] = useState('');
  const [quietHours, setQuietHours] = useState('');
  const [byReload, setByReload] = useState(false);
  const server = servers.find((each) => each.pid === pid) ?? first;
  const spec = {
    server: String(server.pid),
    mode,
    objective,
    guards: guardsOf(text),
    quiet_hours: quietHours.trim() || null,
    by_reload: byReload,
  };
  const attach = useAttach();
  const tries = mode !== 'advise';
  const obstacles = [
    ...(byReload ? [] : server.obstacles),
    ...(server.no_reload === null ? [] : [server.no_reload]),
  ];
  const onlyObserved = tries && obstacles.length > 0;
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault();
        attach.mutate({ body: spec });
      }}
    >
      <NativeSelect
        label="Server"
        value={String(server.pid)}
        data={servers.map((each) => ({ value: String(each.pid), label: serverTitle(each) }))}
        onChange={({ currentTarget }) => setPid(Number(currentTarget.value))}
      />
      <Input.Wrapper
        label="Mode"
        labelElement="div"
        description={MODES.find((each) => each.mode === mode)?.help}
      >
        <SegmentedControl
          className={classes.choice}
          aria-label="Mode"
          value={mode}
          data={MODES.map((each) => each.mode)}
          onChange={(value) => setMode(value as LiveMode)}
        />
      </Input.Wrapper>
      <Input.Wrapper label="What shall become less" labelElement="div">
        <SegmentedControl
          className={classes.choice}
          aria-label="What shall become less"
          value={objective}
          data={[...OBJECTIVES]}
          onChange={(value) => setObjective(value as typeof objective)}
        />
      </Input.Wrapper>
      <Textarea
        label="Guards"
        description="One a line. What breaks one ends a trial at once: p99, errors, cpu, queue."
        placeholder={EXAMPLES}
        rows={3}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <TextInput
        label="Quiet hours"
        description="When nothing is tried, by the clock of this host."
        placeholder="08:00-20:00"
        value={quietHours}
        onChange={({ currentTarget }) => setQuietHours(currentTarget.value)}
      />
      {tries && server.obstacles.length > 0 && server.no_reload === null && (
        <Checkbox
          label="Try by reloads"
          description="The server itself has each candidate by turns with its own file, four reloads an hour: no second server shares its connections."
          checked={byReload}
          onChange={({ currentTarget }) => setByReload(currentTarget.checked)}
        />
      )}
      {onlyObserved && (
        <Message
          tone="warn"
          title={
            server.no_reload === null
              ? 'Its connections cannot be shared: choose the mode advise, or try by reloads.'
              : 'This server can only be observed: choose the mode advise.'
          }
        >
          {obstacles.join(' ')}
        </Message>
      )}
      {!server.attachable && <HowToAllow command={attachCommand(spec)} server={server} />}
      <div className={classes.actions}>
        <Button
          type="submit"
          leftSection={<IconPlugConnected size={16} aria-hidden />}
          disabled={!server.attachable || onlyObserved}
          loading={attach.isPending}
        >
          Attach
        </Button>
      </div>
      {attach.error && (
        <Message tone="bad" title="Live tuning was not attached.">
          {attach.error.message}
        </Message>
      )}
    </form>
  );
}

/** Attaches, and goes to the session. */
function useAttach() {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    ...attachLiveSessionMutation(),
    onSuccess: ({ id }) => {
      client.invalidateQueries({ queryKey: listLiveSessionsQueryKey() });
      void navigate({ to: '/live-tuning/$id', params: { id } });
    },
  });
}

function HowToAllow({ command, server }: { command: string; server: LiveServer }) {
  const word =
    server.unit?.replace(/\.service$/, '') || server.addresses[0]?.match(/\d+$/)?.[0] || server.program;
  return (
    <Message
      title="The operator has not allowed this page to attach to this server."
      action={<CopyText text={command} label="Copy the command" />}
    >
      Start the daemon with <code>TRIMTAB_LIVE_SERVERS={word}</code>, or attach on the machine:{' '}
      <code className={classes.command}>{command}</code>
    </Message>
  );
}
