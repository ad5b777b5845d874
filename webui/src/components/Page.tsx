// The frame of a page: its name as the one h1 and in the window's title, and the actions beside it.

import type { ReactNode } from 'react';
import classes from './Page.module.css';
import { WithTerms } from './Term';

interface PageProps {
  title: string;
  /** What stands beside the title, such as a state. */
  mark?: ReactNode;
  /** Words of the glossary in a text are marked. */
  description?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

export function Page({ title, mark, description, actions, children }: PageProps) {
  return (
    <div className={classes.page}>
      <title>{`${title} · Trimtab`}</title>
      <header className={classes.header}>
        <div>
          <div className={classes.titleRow}>
            <h1 className={classes.title}>{title}</h1>
            {mark}
          </div>
          {description && (
            <p className={classes.description}>
              {typeof description === 'string' ? <WithTerms text={description} /> : description}
            </p>
          )}
        </div>
        {actions && <div className={classes.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}
