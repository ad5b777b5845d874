// The user's own file beside the exported one, and what else differed in the file that was measured.

import type { Export } from '../../api/generated';
import { Panel } from '../../components/Panel';
import { formatCount } from '../../maths/format';
import { Diff } from './Diff';
import { diffLines } from './diffLines';
import classes from './ExportPage.module.css';

interface OwnFilePanelProps {
  path: string;
  file: Pick<Export, 'file_name' | 'diff_base'>;
  replaced: readonly string[];
}

export function OwnFilePanel({ path, file, replaced }: OwnFilePanelProps) {
  const lines = diffLines(file.diff_base);
  const count = (wanted: string) => lines.filter(({ kind }) => kind === wanted).length;
  return (
    <Panel title="Your file and the exported one" description={<code>{path}</code>}>
      {lines.length === 0 ? (
        <p className={classes.unchecked}>The exported file is your file, byte for byte.</p>
      ) : (
        <>
          <p className={classes.unchecked}>
            Lines added: {formatCount(count('added'))}. Lines removed: {formatCount(count('removed'))}. All
            others are as they were.
          </p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
          <section className={classes.text} tabIndex={0} aria-label={`Changes in ${file.file_name}`}>
            <pre>
              <Diff text={file.diff_base} />
            </pre>
          </section>
        </>
      )}
      {replaced.length > 0 && (
        <>
          <h3 className={classes.replacedTitle} id="replaced">
            What else differed in the file that was measured
          </h3>
          <ul className={classes.replaced} aria-labelledby="replaced">
            {replaced.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}
