// Collects the actions of the frame and of the page that is shown, and runs them by key.
//
// Single keys can be switched off in the palette (WCAG 2.1.4): speech input would set them off by accident.

import {
  createContext,
  type ReactNode,
  use,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { readStored, writeStored } from '../browser/stored';
import { type Action, isWriting, KeySequence } from './actions';

interface Actions {
  all: () => Action[];
  register: (id: string, actions: readonly Action[]) => void;
  remove: (id: string) => void;
  keysOn: boolean;
  setKeysOn: (on: boolean) => void;
}

const ActionsContext = createContext<Actions | null>(null);
const STORED = 'trimtab-keys';

export function ActionsProvider({ children }: { children: ReactNode }) {
  const registered = useRef(new Map<string, readonly Action[]>());
  const [keysOn, setOn] = useState(() => readStored(STORED) !== 'off');
  const actions = useMemo(
    (): Actions => ({
      // What the page offers comes before what the frame offers.
      all: () => [...registered.current.values()].toReversed().flat(),
      register: (id, list) => registered.current.set(id, list),
      remove: (id) => registered.current.delete(id),
      keysOn,
      setKeysOn: (on) => {
        writeStored(STORED, on ? 'on' : 'off');
        setOn(on);
      },
    }),
    [keysOn],
  );
  useEffect(() => {
    if (!keysOn) return;
    const sequence = new KeySequence();
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key.length !== 1 || isWriting(event.target) || document.querySelector('dialog[open]')) return;
      const action = sequence.press(event.key, event.timeStamp, actions.all());
      if (action === null) return;
      event.preventDefault();
      action.run();
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [actions, keysOn]);
  return <ActionsContext value={actions}>{children}</ActionsContext>;
}

export function useActionList(): Actions {
  const actions = use(ActionsContext);
  if (actions === null) throw new Error('actions are used outside of ActionsProvider');
  return actions;
}

/** Offers actions for as long as the component is shown. */
export function useActions(list: readonly Action[]): void {
  const context = use(ActionsContext);
  const id = useId();
  // Before the page is painted: whoever sees it can use its keys.
  useLayoutEffect(() => {
    context?.register(id, list);
  });
  useLayoutEffect(() => () => context?.remove(id), [context, id]);
}
