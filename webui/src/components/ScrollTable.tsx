// A table that scrolls inside its own box: sideways on narrow screens, and downwards when it is long.

import { Table } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './ScrollTable.module.css';

export function ScrollTable({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={classes.scroll} data-scrolls tabIndex={0} aria-label={`Table: ${label}`}>
      <Table stickyHeader fz="sm" verticalSpacing={5}>
        {children}
      </Table>
    </section>
  );
}
