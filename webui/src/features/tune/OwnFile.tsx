// A user's own configuration, chosen or pasted: what it sets are the defaults that the gain is measured over.

import { Button, FileButton, Textarea } from '@mantine/core';
import { IconFileUpload } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { readValuesMutation } from '../../api/generated/@tanstack/react-query.gen';
import { KnobChips } from '../../components/KnobChips';
import classes from './Tune.module.css';
import { NO_OWN_VALUES, type OwnValues, WRAPPER_ORDER } from './tuneForm';

interface OwnFileProps {
  target: string;
  own: OwnValues;
  /** What the daemon has against the values. */
  error: string | undefined;
  onOwn: (own: OwnValues) => void;
}

export function OwnFile({ target, own, error, onOwn }: OwnFileProps) {
  const [text, setText] = useState('');
  const read = useMutation(readValuesMutation());
  const told = [...new Set(read.data?.told)];
  const taken = Object.keys(own.values).length;
  const take = (file: string, content: string) =>
    read.mutate(
      { path: { name: target }, body: { text: content } },
      { onSuccess: ({ values }) => onOwn({ file, values }) },
    );
  const choose = async (file: File | null) => {
    if (file === null) return;
    const content = await file.text();
    setText(content);
    take(file.name, content);
  };
  return (
    <div className={classes.own}>
      <Textarea
        label="Your own configuration"
        inputWrapperOrder={WRAPPER_ORDER}
        description="Paste it or choose the file. Its values become the defaults, so the gain is measured over them. Trimtab uses nothing else of it, and does not read files that it includes."
        rows={3}
        spellCheck={false}
        value={text}
        error={read.error?.message ?? error}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <div className={classes.ownActions}>
        <FileButton onChange={choose}>
          {(props) => (
            <Button
              {...props}
              size="xs"
              variant="default"
              leftSection={<IconFileUpload size={15} aria-hidden />}
            >
              Choose a file
            </Button>
          )}
        </FileButton>
        <Button
          size="xs"
          variant="default"
          disabled={text.trim() === ''}
          loading={read.isPending}
          onClick={() => take('', text)}
        >
          Take its values
        </Button>
        {taken > 0 && (
          <Button size="xs" variant="default" onClick={() => onOwn(NO_OWN_VALUES)}>
            Forget them
          </Button>
        )}
        <span role="status">
          {taken > 0 && (
            <>
              {`Taken${own.file && ` from ${own.file}`}: `}
              <KnobChips of={own.values} />
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
