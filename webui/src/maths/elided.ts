// A text in the room that there is. Pure.

/** The text, or its beginning and an ellipsis where it is wider than `most`; `widthOf` measures a text. */
export function elided(text: string, most: number, widthOf: (text: string) => number): string {
  if (widthOf(text) <= most) return text;
  for (let length = text.length - 1; length > 0; length--) {
    const shorter = `${text.slice(0, length)}…`;
    if (widthOf(shorter) <= most) return shorter;
  }
  return '…';
}
