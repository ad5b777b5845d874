// A table that scrolls inside its own box: sideways on narrow screens, and downwards when it is long. Where its columns
// go on beyond an edge, a shadow lies over that edge: below the cells nobody would see it where they have colours.

import { Table } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import classes from './ScrollTable.module.css';

export function ScrollTable({ label, children }: { label: string; children: ReactNode }) {
  const box = useRef<HTMLElement>(null);
  const [cutAt, setCutAt] = useState('');
  const look = () => box.current && setCutAt(cutEdges(box.current));
  useEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    const observer = new ResizeObserver(() => setCutAt(cutEdges(current)));
    for (const each of [current, ...current.children]) observer.observe(each);
    return () => observer.disconnect();
  }, []);
  return (
    <section
      ref={box}
      className={classes.scroll}
      data-cut-at={cutAt}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={`Table: ${label}`}
      onScroll={look}
    >
      <Table stickyHeader fz="sm" verticalSpacing={5}>
        {children}
      </Table>
    </section>
  );
}

/** The edges beyond which columns go on; a part of a pixel is no column. */
const cutEdges = ({ scrollLeft, clientWidth, scrollWidth }: HTMLElement): string =>
  [scrollLeft > 1 && 'left', scrollLeft + clientWidth < scrollWidth - 1 && 'right'].filter(Boolean).join(' ');
