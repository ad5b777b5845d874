import { type UIEvent, useCallback, useState } from 'react';

/** Rows above and below those to be seen, so that scrolling shows no blank. */
const SPARE_ROWS = 12;
/** Fewer rows than this are all drawn. */
const FEW_ROWS = 120;

export interface WindowedRows {
  first: number;
  /** One more than the last. */
  end: number;
  /** Heights in pixels that stand for the rows which are not drawn. */
  above: number;
  below: number;
  onScroll: (event: UIEvent<HTMLElement>) => void;
}

/** Which of `count` rows, each `rowHeight` pixels high, a box of `height` pixels has to draw as it scrolls. */
export function useWindowedRows(count: number, rowHeight: number, height: number): WindowedRows {
  const [top, setTop] = useState(0);
  const onScroll = useCallback(
    (event: UIEvent<HTMLElement>) => {
      // Whole groups of rows: not every pixel of scrolling draws anew.
      const step = (SPARE_ROWS / 2) * rowHeight;
      setTop(Math.floor(event.currentTarget.scrollTop / step) * step);
    },
    [rowHeight],
  );
  if (count <= FEW_ROWS) return { first: 0, end: count, above: 0, below: 0, onScroll };
  const visible = Math.ceil(height / rowHeight);
  const topmost = Math.max(0, Math.min(Math.floor(top / rowHeight), count - visible));
  const first = Math.max(0, topmost - SPARE_ROWS);
  const end = Math.min(count, topmost + visible + 2 * SPARE_ROWS);
  return { first, end, above: first * rowHeight, below: (count - end) * rowHeight, onScroll };
}
