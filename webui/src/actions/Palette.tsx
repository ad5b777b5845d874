// The command palette: every action that can be done here, with its keys. Opened by ? or Ctrl+K.

import { Switch, TextInput } from '@mantine/core';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { useActionList } from './ActionsProvider';
import { type Action, findActions } from './actions';
import classes from './Palette.module.css';

export function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} className={classes.dialog} aria-label="Actions" onClose={onClose}>
      {open && <Choices onDone={onClose} />}
    </dialog>
  );
}

function Choices({ onDone }: { onDone: () => void }) {
  const { all, keysOn, setKeysOn } = useActionList();
  // What was there when the palette opened: the page behind it goes on changing.
  const [actions] = useState(all);
  const [query, setQuery] = useState('');
  const [place, setPlace] = useState(0);
  const id = useId();
  const found = findActions(actions, query);
  const chosen = Math.min(place, found.length - 1);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  const run = (action: Action | undefined) => {
    if (action === undefined) return;
    onDone();
    action.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) {
      event.preventDefault();
      setPlace((chosen + step + found.length) % found.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      run(found[chosen]);
    }
  };
  return (
    <>
      <TextInput
        aria-label="Find an action"
        placeholder="Find an action"
        role="combobox"
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length > 0 ? `${id}-${chosen}` : undefined}
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          setPlace(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div ref={list} id={`${id}-list`} role="listbox" aria-label="Actions" className={classes.list}>
        {found.map((action, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above takes the keys, as a combobox does
          <div
            key={action.title}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            tabIndex={-1}
            className={classes.option}
            onClick={() => run(action)}
          >
            <span>{action.title}</span>
            {action.keys && <kbd>{action.keys}</kbd>}
          </div>
        ))}
      </div>
      {found.length === 0 && <p className={classes.none}>No action has these words.</p>}
      <div className={classes.foot}>
        <Switch
          size="xs"
          label="Single keys run actions"
          checked={keysOn}
          onChange={(event) => setKeysOn(event.currentTarget.checked)}
        />
        <span>
          <kbd>Ctrl</kbd> <kbd>K</kbd> opens this list, <kbd>Esc</kbd> closes it.
        </span>
      </div>
    </>
  );
}
