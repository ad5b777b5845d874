// What to do with the files: three steps, for the one that the server itself is started with.

import { useQuery } from '@tanstack/react-query';
import type { Export } from '../../api/generated';
import { getTargetsOptions } from '../../api/generated/@tanstack/react-query.gen';
import { TextLink } from '../../components/links';
import { Panel } from '../../components/Panel';
import classes from './ExportPage.module.css';

interface StepsPanelProps {
  file: Pick<Export, 'file_name' | 'check_ok' | 'check_command' | 'steps'>;
  /** The server that was measured. */
  target: string;
  /** Where the user's own file lies; null without one. */
  base: string | null;
}

export function StepsPanel({ file, target, base }: StepsPanelProps) {
  const { file_name, check_ok, check_command, steps } = file;
  return (
    <Panel title="What to do with it">
      <ol className={classes.steps}>
        <li>
          <strong>Read it.</strong> The differences stand above; each value in <code>{file_name}</code> has
          its reason beside it.
        </li>
        <li>
          <strong>Bring it to your server.</strong> {steps.join(' ')} {base === null && <Again of={target} />}{' '}
          {check_command !== '' &&
            (check_ok
              ? 'The server’s own check has accepted it here; let it check once more there.'
              : 'The server’s own check has refused it here: see what it said before you go on.')}
        </li>
        <li>
          <strong>Reload the server, and look.</strong> Watch its latency and errors for a day as you would
          after any change. The way back is the copy of the old file.
        </li>
      </ol>
    </Panel>
  );
}

/** Leads to a run that begins with the server's own file; nothing where there is none here. */
function Again({ of }: { of: string }) {
  const targets = useQuery(getTargetsOptions());
  const file = targets.data?.find(({ name }) => name === of)?.file;
  if (!file) return null;
  return (
    <TextLink to="/tune" search={{ target: of, base: file.path }} size="sm" underline="always">
      Set up a run with {file.path}
    </TextLink>
  );
}
