// A table whose rows become blocks where there is no room for its columns: the head of the row, or the cell with
// `data-leads`, on a line of its own on top, and below it the other cells, each under the name that its `data-name`
// gives it. Of the heads of the columns only those remain that sort, or that say so with `data-stays`; words of the
// glossary in the others would lie upon each other.

import { Table, type TableProps } from '@mantine/core';
import classes from './FoldingTable.module.css';

export function FoldingTable(props: TableProps) {
  return (
    <div className={classes.folding} data-scrolls>
      <Table {...props} />
    </div>
  );
}
