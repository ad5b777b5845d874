// What to do with the files: three steps, for the one that the server itself is started with.

import type { Export } from '../../api/generated';
import { Panel } from '../../components/Panel';
import classes from './ExportPage.module.css';

interface StepsPanelProps {
  file: Pick<Export, 'file_name' | 'check_ok' | 'check_command'>;
  /** Where the user's own file lies; null without one. */
  base: string | null;
}

export function StepsPanel({ file: { file_name, check_ok, check_command }, base }: StepsPanelProps) {
  const place = base ?? 'the place of your server’s own file';
  return (
    <Panel title="What to do with it">
      <ol className={classes.steps}>
        <li>
          <strong>Read it.</strong> The differences stand above; each value in <code>{file_name}</code> has
          its reason beside it.
        </li>
        <li>
          <strong>Put it in place.</strong> Keep a copy of the old file, then download{' '}
          <code>{file_name}</code> to {base ? <code>{place}</code> : place}.{' '}
          {check_command !== '' &&
            (check_ok
              ? 'The server’s own check has accepted it here; let it check once more there.'
              : 'The server’s own check has refused it here: see what it said before you go on.')}
        </li>
        <li>
          <strong>Reload the server, and look.</strong> Watch its latency and errors for a day as you would
          after any change. The way back is the copy.
        </li>
      </ol>
    </Panel>
  );
}
