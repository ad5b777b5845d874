// A user's own configuration file, in one field: its text, whose values become the defaults that the gain is measured
// over; or its path, with which the whole file is tuned: here where the daemon lists it, or takes files that are sent
// and was sent it, else in a terminal.

import { Button, FileButton, Textarea } from '@mantine/core';
import { IconFileUpload } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import type { TargetReply } from '../../api/generated';
import { readValuesMutation, sendFileMutation } from '../../api/generated/@tanstack/react-query.gen';
import { KnobChips } from '../../components/KnobChips';
import { formatBytes } from '../../maths/format';
import classes from './Tune.module.css';
import { isWithinReach, NO_OWN_VALUES, type OwnValues, ofUsualFile, WRAPPER_ORDER } from './tuneForm';

interface OwnFileProps {
  target: TargetReply | undefined;
  own: OwnValues;
  /** The file's path; empty where its text is given. */
  base: string;
  /** What the daemon has against the values. */
  error: string | undefined;
  onOwn: (own: OwnValues) => void;
  onBase: (base: string) => void;
}

/** What the daemon takes at most. */
const MOST_BYTES = 2 ** 20;

/** A line that is a path and no setting. */
const PATH = /^\s*\/\S+\s*$/;

/** What becomes of what stands in the field. */
function describe(target: TargetReply | undefined, base: string, isPath: boolean): string {
  if (target && isWithinReach(target, base))
    return 'Trimtab measures the whole file with what it includes, and hands it back with the changes.';
  if (isPath)
    return 'Trimtab measures the whole file with what it includes, and hands it back with the changes. A browser may not name files of this machine: start the run with the command on this page, or list the file in TRIMTAB_BASE_FILES of the daemon.';
  if (!target?.uploads)
    return 'Paste it, choose it, or write its path. Of its text the values become the defaults, so the gain is measured over them; with a path, the whole file is tuned.';
  return 'Choose it, and the whole file is tuned, if it includes no others; or write its path. Of a text that is pasted the values become the defaults, so the gain is measured over them.';
}

export function OwnFile({ target, own, base, error, onOwn, onBase }: OwnFileProps) {
  const [text, setText] = useState(base);
  const read = useMutation(readValuesMutation());
  const send = useMutation(sendFileMutation());
  const forget = useRef<() => void>(null);
  /** Why the file that was chosen could not be read. */
  const [unread, setUnread] = useState('');
  const told = [...new Set(read.data?.told)];
  // A whole file has its own values.
  const whole = target !== undefined && isWithinReach(target, base);
  const taken = whole ? 0 : Object.keys(own.values).length;
  const isPath = PATH.test(text);
  const usual = target?.file && !target.file.trouble ? target.file : null;
  const write = (content: string) => {
    setText(content);
    setUnread('');
    read.reset();
    send.reset();
    onBase(PATH.test(content) ? content.trim() : '');
  };
  const take = (file: string, content: string) =>
    read.mutate(
      { path: { name: target?.name ?? '' }, body: { text: content } },
      { onSuccess: ({ values, each_cpu }) => onOwn({ file, values, eachCpu: each_cpu }) },
    );
  const choose = async (file: File | null) => {
    if (file === null) return;
    // The same file, changed meanwhile, may be chosen again.
    forget.current?.();
    if (file.size > MOST_BYTES)
      return setUnread(
        `${file.name} has ${formatBytes(file.size)}: expected at most ${formatBytes(MOST_BYTES)}.`,
      );
    const content = await file.text().catch(() => null);
    if (content === null) return setUnread(`${file.name} cannot be read: choose it again.`);
    write(content);
    if (!target?.uploads) take(file.name, content);
    else
      send.mutate(
        {
          path: { name: target.name },
          query: { called: file.name, ...(base && { replaces: base }) },
          body: file,
        },
        { onSuccess: ({ path }) => write(path) },
      );
  };
  return (
    <div className={classes.own}>
      <Textarea
        label="Your own configuration file"
        inputWrapperOrder={WRAPPER_ORDER}
        description={describe(target, base, isPath)}
        placeholder={target?.file?.path ?? ''}
        rows={3}
        spellCheck={false}
        value={text}
        error={unread || (send.error?.message ?? read.error?.message ?? error)}
        onChange={(event) => write(event.currentTarget.value)}
      />
      <div className={classes.ownActions}>
        <FileButton resetRef={forget} onChange={choose}>
          {(props) => (
            <Button
              {...props}
              size="xs"
              variant="default"
              loading={send.isPending}
              leftSection={<IconFileUpload size={15} aria-hidden />}
            >
              Choose a file
            </Button>
          )}
        </FileButton>
        <Button
          size="xs"
          variant="default"
          disabled={isPath || text.trim() === ''}
          loading={read.isPending}
          onClick={() => take('', text)}
        >
          Take its values
        </Button>
        {usual && own.file !== usual.path && (
          <Button size="xs" variant="default" onClick={() => onOwn(ofUsualFile(usual))}>
            Take those of {usual.path}
          </Button>
        )}
        {taken > 0 && (
          <Button size="xs" variant="default" onClick={() => onOwn(NO_OWN_VALUES)}>
            Forget them
          </Button>
        )}
        <span role="status">
          {taken > 0 && (
            <>
              {`Taken${own.file && ` from ${own.file}`}: `}
              <KnobChips of={own.values} eachCpu={own.eachCpu} />
            </>
          )}
          {taken === 0 && read.isSuccess && 'It sets none of the knobs.'}
        </span>
      </div>
      {told.length > 0 && (
        <details>
          <summary>
            What a run with the file itself (trimtab tune --base FILE) does with it: {told.length}{' '}
            {told.length === 1 ? 'line' : 'lines'}
          </summary>
          <ul>
            {told.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
