// What the words of the field mean that the other pages use. Each has an address of its own: /glossary#goodput.

import { useLocation } from '@tanstack/react-router';
import { Page } from '../../components/Page';
import { Panel } from '../../components/Panel';
import { anchorOf, TERMS } from '../../components/terms';
import classes from './Glossary.module.css';

export function GlossaryPage() {
  const { hash } = useLocation();
  return (
    <Page title="Glossary" description="The words that these pages use, as Trimtab means them.">
      <Panel title="Words">
        <dl className={classes.terms}>
          {TERMS.map(({ word, meaning }) => (
            <div key={word} className={classes.term} data-asked={anchorOf(word) === hash || undefined}>
              <dt id={anchorOf(word)}>{word}</dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </Panel>
    </Page>
  );
}
