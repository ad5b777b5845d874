// A panel: a titled surface, the building block of every page. A component named …Panel draws one, …Panels several.

import { type ReactNode, useId } from 'react';
import classes from './Panel.module.css';
import { Term, WithTerms } from './Term';
import { TERMS } from './terms';

interface PanelProps {
  /** One that is a word of the glossary leads there. */
  title: string;
  /** Words of the glossary in a text are marked. */
  description?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  /** Several grid columns wide, where the page is a grid. */
  wide?: boolean;
}

export function Panel({ title, description, actions, children, wide = false }: PanelProps) {
  const id = useId();
  const entry = TERMS.find(({ word }) => word === title);
  return (
    <section className={classes.panel} aria-labelledby={id} data-wide={wide || undefined}>
      <header className={classes.header}>
        <div>
          <h2 id={id} className={classes.title}>
            {entry ? <Term of={entry.word} /> : title}
          </h2>
          {description && (
            <p className={classes.description}>
              {typeof description === 'string' ? <WithTerms text={description} /> : description}
            </p>
          )}
        </div>
        {actions && <div className={classes.actions}>{actions}</div>}
      </header>
      {children}
    </section>
  );
}
