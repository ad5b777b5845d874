// The lines of a unified diff, with what each means. Pure.

export interface DiffLine {
  /** Place in the diff, which names the line for React. */
  place: number;
  kind: 'added' | 'removed' | 'same' | 'place';
  text: string;
}

/** Without the two lines that name the files: they come first, and a line of a file may look like them. */
export function diffLines(diff: string): DiffLine[] {
  return diff
    .split('\n')
    .slice(2)
    .map((text, place): DiffLine => {
      const kind = text.startsWith('@@')
        ? 'place'
        : text.startsWith('+')
          ? 'added'
          : text.startsWith('-')
            ? 'removed'
            : 'same';
      return { place, kind, text };
    })
    .filter(({ text }) => text !== '');
}
