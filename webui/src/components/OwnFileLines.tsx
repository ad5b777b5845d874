// What the run does with the user's own file, line by line, before it is started: what `trimtab tune --dry-run` says in
// a terminal.

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { Line, RunSpec } from '../api/generated';
import { tellOfOwnFileOptions } from '../api/generated/@tanstack/react-query.gen';
import { formatCount } from '../maths/format';
import { KnobChips } from './KnobChips';
import { Loadable } from './Loadable';
import classes from './OwnFileLines.module.css';

/** In the order in which they are shown; what asks for a decision stands open. */
const KINDS: Record<Line['kind'], { title: string; open: boolean }> = {
  missing: { title: 'Upstreams that are not there', open: true },
  corrected: { title: 'Values in whose place the server takes others', open: true },
  comment: { title: 'Comments that warn, beside settings that are tuned', open: true },
  site: { title: 'What is asked of your site', open: true },
  log: { title: 'Logs, which stay on', open: true },
  stays: { title: 'Exceptions that stay as they are', open: false },
  runs: { title: 'What the measured server runs or loads too', open: false },
  changed: { title: 'In what the measured file differs from yours', open: false },
};

/** Of the run that is started with `spec`, which names a file that the browser may name. */
export function OwnFileLines({ spec }: { spec: RunSpec }) {
  // While another run with the same file is asked about, the last answer stays.
  const report = useQuery({
    ...tellOfOwnFileOptions({ body: spec }),
    placeholderData: keepPreviousData,
    retry: false,
  });
  return (
    <Loadable query={report} what="What the run does with your file" height={90}>
      {({ includes, tuned, lines }) => (
        <div className={classes.lines}>
          <p>
            Tuned, each with the value that it has now: <KnobChips of={tuned} />
          </p>
          {includes.length > 0 && <p>{`It is measured with what it includes: ${includes.join(', ')}.`}</p>}
          {Object.entries(KINDS).map(([kind, { title, open }]) => (
            <LinesOfKind
              key={kind}
              title={title}
              open={open}
              lines={lines.filter((line) => line.kind === kind)}
            />
          ))}
        </div>
      )}
    </Loadable>
  );
}

function LinesOfKind({ title, open, lines }: { title: string; open: boolean; lines: Line[] }) {
  if (lines.length === 0) return null;
  return (
    <details className={classes.told} open={open}>
      <summary>{`${title} (${formatCount(lines.length)})`}</summary>
      <ul>
        {lines.map(({ file, line, text }) => (
          <li key={`${file}:${line}:${text}`}>{file ? `${file}:${line}: ${text}` : text}</li>
        ))}
      </ul>
    </details>
  );
}
