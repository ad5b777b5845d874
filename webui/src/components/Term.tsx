// A word of the glossary, wherever it stands: underlined with dots, explained when the pointer or the keyboard is on
// it, and the way to its entry.

import { Tooltip } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { memo, type ReactNode } from 'react';
import classes from './Term.module.css';
import { anchorOf, piecesOf, TERMS, type Word } from './terms';

// Charts that move are drawn anew every second; the words beside them stay.

/** `of` is the entry; what is shown may be another form of it. */
export const Term = memo(function Term({ of, children = of }: { of: Word; children?: ReactNode }) {
  return (
    <Tooltip
      label={TERMS.find(({ word }) => word === of)?.meaning}
      multiline
      maw="min(22rem, 90vw)"
      events={{ hover: true, focus: true, touch: false }}
      openDelay={200}
      // Within the page, as everything that is said.
      portalProps={{ target: '#content' }}
    >
      <Link to="/glossary" hash={anchorOf(of)} className={classes.term}>
        {children}
      </Link>
    </Tooltip>
  );
});

/** A text with each word of the glossary marked where it first stands. */
export const WithTerms = memo(function WithTerms({ text }: { text: string }) {
  return piecesOf(text).map((piece) =>
    piece.word === undefined ? (
      piece.text
    ) : (
      <Term key={piece.word} of={piece.word}>
        {piece.text}
      </Term>
    ),
  );
});
