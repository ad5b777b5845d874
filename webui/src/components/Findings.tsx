// What in a server's file contradicts this machine, each with its line, the evidence and what to do.

import type { CheckedFile, Contradiction } from '../api/generated';
import classes from './Findings.module.css';

export function Findings({ of: { found = [], trouble } }: { of: CheckedFile }) {
  return (
    <>
      {trouble && <p className={classes.said}>{trouble}</p>}
      {!trouble && found.length === 0 && (
        <p className={classes.said}>Nothing in it contradicts this machine.</p>
      )}
      <ul className={classes.findings}>
        {found.map((each) => (
          <Finding key={`${each.rule} ${each.file} ${each.line}`} found={each} />
        ))}
      </ul>
    </>
  );
}

function Finding({
  found: { severity, sentence, evidence, suggestion, file, line },
}: {
  found: Contradiction;
}) {
  return (
    <li>
      <strong>{severity}</strong> <code>{line === null ? file : `${file}:${line}`}</code>
      <p>{sentence}</p>
      <p className={classes.hint}>
        {evidence.join('; ')} · {suggestion}
      </p>
    </li>
  );
}
