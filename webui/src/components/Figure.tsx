// A number with its name: the tiles at the top of pages.

import type { ReactNode } from 'react';
import classes from './Figure.module.css';
import { WithTerms } from './Term';

interface FigureProps {
  label: string;
  value: ReactNode;
  detail?: ReactNode;
}

/** `narrow`: for a column beside the main one. */
export function FigureList({ children, narrow }: { children: ReactNode; narrow?: boolean }) {
  return (
    <dl className={classes.list} data-narrow={narrow}>
      {children}
    </dl>
  );
}

export function Figure({ label, value, detail }: FigureProps) {
  return (
    <div className={classes.figure}>
      <dt className={classes.label}>
        <WithTerms text={label} />
      </dt>
      <dd className={classes.value}>
        {value}
        {detail && <span className={classes.detail}>{detail}</span>}
      </dd>
    </div>
  );
}
