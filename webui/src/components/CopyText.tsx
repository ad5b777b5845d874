// A button that puts a text into the clipboard and says that it did, or that it could not.

import { Button } from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconCopy } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { copyToClipboard } from '../browser/clipboard';

const SHOWN_MS = 3000;

const LOOKS = {
  idle: { Icon: IconCopy, word: '' },
  done: { Icon: IconCheck, word: 'Copied' },
  failed: { Icon: IconAlertTriangle, word: 'Not copied: select the text and press Ctrl+C' },
} as const;

export function CopyText({ text, label }: { text: string; label: string }) {
  const [state, setState] = useState<keyof typeof LOOKS>('idle');
  useEffect(() => {
    if (state === 'idle') return;
    const timer = setTimeout(() => setState('idle'), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const { Icon, word } = LOOKS[state];
  return (
    <>
      <Button
        variant="default"
        size="xs"
        leftSection={<Icon size={15} aria-hidden />}
        onClick={async () => setState((await copyToClipboard(text)) ? 'done' : 'failed')}
      >
        {word || label}
      </Button>
      <span className="visually-hidden" role="status">
        {word}
      </span>
    </>
  );
}
