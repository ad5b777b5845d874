// What in the server's usual file contradicts this machine: the same as `trimtab check FILE`.

import { useQuery } from '@tanstack/react-query';
import { checkUsualFileOptions, getTargetsOptions } from '../../api/generated/@tanstack/react-query.gen';
import { Findings } from '../../components/Findings';
import { Loadable } from '../../components/Loadable';
import { Panel } from '../../components/Panel';
import classes from './HomePage.module.css';
import { offered } from './offered';

/** The card of the server that is offered first; nothing where that has no file here. */
export function CheckedFile() {
  const targets = useQuery(getTargetsOptions());
  const server = offered(targets.data ?? []).find(({ file }) => file !== null);
  if (!server?.file) return null;
  return <Check name={server.name} path={server.file.path} />;
}

function Check({ name, path }: { name: string; path: string }) {
  const query = useQuery(checkUsualFileOptions({ path: { name } }));
  return (
    <Panel title="Your file on this machine" description={<code>{path}</code>}>
      <Loadable query={query} what="The check of the file" height={64}>
        {(checked) => (
          <>
            <Findings of={checked} />
            <p className={classes.hint}>
              In a terminal: <code>trimtab check {path}</code>. The server was not asked:{' '}
              <code>{checked.check_command}</code>
            </p>
          </>
        )}
      </Loadable>
    </Panel>
  );
}
