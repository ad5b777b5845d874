// What the words of the field mean that the other pages use. Each has an address of its own: /glossary#goodput.

import { Page } from '../../components/Page';
import { Panel } from '../../components/Panel';
import classes from './Glossary.module.css';
import { TERMS } from './terms';

export function GlossaryPage() {
  return (
    <Page title="Glossary" description="The words that these pages use, as Trimtab means them.">
      <Panel title="Words">
        <dl className={classes.terms}>
          {TERMS.map(({ word, meaning }) => (
            <div key={word} className={classes.term}>
              <dt id={word.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}>{word}</dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
      </Panel>
    </Page>
  );
}
