// The user's own file before the run is started: what the run does with it, and what in it contradicts this machine, as
// `trimtab tune --dry-run` and `trimtab check` say in a terminal.

import { useQuery } from '@tanstack/react-query';
import type { RunSpec } from '../../api/generated';
import { checkOwnFileOptions } from '../../api/generated/@tanstack/react-query.gen';
import { Findings } from '../../components/Findings';
import { Loadable } from '../../components/Loadable';
import { OwnFileLines } from '../../components/OwnFileLines';
import { Panel } from '../../components/Panel';
import classes from './Tune.module.css';

export function OwnFileReport({ spec }: { spec: RunSpec }) {
  const { target, base } = spec;
  const checked = useQuery({ ...checkOwnFileOptions({ body: { target, base } }), retry: false });
  return (
    <Panel
      title="Your file in this run"
      description="Only the server's own check is asked; nothing is started. PORT and DIRECTORY are those of a trial."
    >
      <OwnFileLines spec={spec} />
      <h3 className={classes.reportPart}>What contradicts this machine</h3>
      <Loadable query={checked} what="The check of the file" height={64}>
        {(found) => <Findings of={found} />}
      </Loadable>
    </Panel>
  );
}
