// Actions: everything that can be done, as objects, so that buttons, keys and the command palette do the same.

export interface Action {
  /** In words, as the palette lists it. */
  title: string;
  /** Keys one after the other, such as `g l`; none when only the palette has it. */
  keys?: string;
  run: () => void;
}

/** A pause longer than this ends a sequence of keys, in ms. */
export const SEQUENCE_MS = 1200;

/** The actions whose titles hold every word of the query, in their order. */
export function findActions(actions: readonly Action[], query: string): Action[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return actions.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
}

/** Follows keys as they are pressed, and says which action their sequence names. */
export class KeySequence {
  private pressed: string[] = [];
  private lastAt = Number.NEGATIVE_INFINITY;

  /** The action that this key completes; null while a sequence may still go on, or when there is none. */
  press(key: string, at: number, actions: readonly Action[]): Action | null {
    if (at - this.lastAt > SEQUENCE_MS) this.pressed = [];
    this.lastAt = at;
    this.pressed.push(key);
    const begins = (keys: string | undefined) => keys?.startsWith(this.pressed.join(' ')) ?? false;
    if (!actions.some(({ keys }) => begins(keys))) this.pressed = [key];
    const found = actions.find(({ keys }) => keys === this.pressed.join(' ')) ?? null;
    if (found) this.pressed = [];
    return found;
  }
}

/** Whether somebody writes in the element, so that letters are letters. */
export function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      target.matches('input:not([type=radio]):not([type=checkbox]), textarea, select'))
  );
}
