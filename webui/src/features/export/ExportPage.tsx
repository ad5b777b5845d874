// What a run hands back: configuration files, checked by the servers themselves.

import { Button, SegmentedControl, Table } from '@mantine/core';
import { IconCircleCheck, IconCircleX, IconDownload, IconFileZip } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useActions } from '../../actions/ActionsProvider';
import type { Export } from '../../api/generated';
import { getRunOptions, listExportsOptions } from '../../api/generated/@tanstack/react-query.gen';
import { CopyText } from '../../components/CopyText';
import { Loadable } from '../../components/Loadable';
import { LinkButton } from '../../components/links';
import { Message } from '../../components/Message';
import { Page } from '../../components/Page';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import type { Configuration } from '../../maths/heatMapGrid';
import { changedKnobs } from '../../maths/knobDiff';
import { Diff } from './Diff';
import { EvidencePanel } from './EvidencePanel';
import classes from './ExportPage.module.css';
import { NoExports } from './NoExports';
import { OwnFilePanel } from './OwnFilePanel';
import { StepsPanel } from './StepsPanel';

const route = getRouteApi('/runs/$id/export');

export function ExportPage() {
  const { id } = route.useParams();
  const run = useQuery(getRunOptions({ path: { run_id: id } }));
  const exports = useQuery(listExportsOptions({ path: { run_id: id } }));
  const navigate = useNavigate();
  const some = exports.data !== undefined && exports.data.length > 0;
  // Of what was not exported there is nothing to tell but why.
  const outcome = exports.data?.length === 0 ? null : run.data?.outcome;
  const archive = `/api/v1/runs/${id}/exports/zip`;
  useActions([
    ...(some ? [{ title: 'Download all', run: () => window.location.assign(archive) }] : []),
    {
      title: `Back to run ${id}`,
      keys: 'u',
      run: () => void navigate({ to: '/runs/$id', params: { id } }),
    },
  ]);
  return (
    <Page
      title={`Exports of run ${id}`}
      description={run.data?.outcome?.sentence}
      actions={
        <>
          {some && (
            <Button
              component="a"
              href={archive}
              download
              variant="default"
              leftSection={<IconFileZip size={16} aria-hidden />}
            >
              Download all
            </Button>
          )}
          <LinkButton to="/runs/$id" params={{ id }} variant="default">
            Back to run {id}
          </LinkButton>
        </>
      }
    >
      {run.data && outcome && <EvidencePanel run={run.data} outcome={outcome} />}
      {outcome?.best && (
        <Differences
          base={outcome.default}
          best={outcome.best}
          written={outcome.written ?? outcome.best}
          workers={outcome.workers}
          connections={outcome.connections}
        />
      )}
      <Loadable query={exports} what="The exports" height={420}>
        {(files) =>
          files.length === 0 ? (
            run.data && <NoExports run={run.data} />
          ) : (
            <>
              {files[0] && run.data && (
                <StepsPanel
                  file={files.find(({ replaced }) => replaced) ?? files[0]}
                  target={run.data.target}
                  base={run.data.base}
                />
              )}
              {files.map(
                (file) =>
                  file.replaced && (
                    <OwnFilePanel
                      key={file.format}
                      path={run.data?.base ?? ''}
                      file={file}
                      replaced={file.replaced}
                    />
                  ),
              )}
              {files.map((file) => (
                <ExportPanel key={file.format} file={file} />
              ))}
            </>
          )
        }
      </Loadable>
    </Page>
  );
}

interface DifferencesProps {
  base: Configuration;
  best: Configuration;
  /** What the files say: the best but for connections for pauses as they are, and workers for all CPUs. */
  written: Configuration;
  /** How many workers that is per CPU; empty where the server had all CPUs. */
  workers: string;
  /** How many connections were open; empty where no less than the measured limit is enough. */
  connections: string;
}

function Differences({ base, best, written, workers, connections }: DifferencesProps) {
  const changes = changedKnobs(base, written);
  return (
    <Panel title="Differences from the default">
      {changes.length === 0 ? (
        <Message title="None: nothing was shown to be better than the default." />
      ) : (
        <ScrollTable label="Differences from the default">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Knob</Table.Th>
              <Table.Th>Default</Table.Th>
              <Table.Th>Exported</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {changes.map(({ knob, from, to }) => (
              <Table.Tr key={knob}>
                <Table.Td>
                  <code>{knob}</code>
                </Table.Td>
                <Table.Td>
                  <del className={classes.removed}>{from ?? 'not set'}</del>
                </Table.Td>
                <Table.Td>
                  <ins className={classes.added}>{to ?? 'not set'}</ins>
                  {best[knob] !== to && ` (measured with ${best[knob]})`}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </ScrollTable>
      )}
      {workers && <p>{workers}</p>}
      {connections && <p>{connections}</p>}
    </Panel>
  );
}

const VIEWS = {
  text: 'Whole file',
  diff_default: 'Against the default',
} as const;
type View = keyof typeof VIEWS;

function ExportPanel({ file }: { file: Export }) {
  const [view, setView] = useState<View>('text');
  const views = (Object.keys(VIEWS) as View[]).filter((name) => name === 'text' || file[name] !== '');
  return (
    <Panel
      title={file.format}
      description={[file.file_name, file.help].filter(Boolean).join(': ')}
      actions={
        <>
          <CopyText text={file.text} label="Copy" />
          <Button
            component="a"
            href={`/api/v1/runs/${file.run_id}/exports/${encodeURIComponent(file.format)}/download`}
            download={file.file_name}
            variant="default"
            size="xs"
            leftSection={<IconDownload size={15} aria-hidden />}
          >
            Download
          </Button>
        </>
      }
    >
      <Check file={file} />
      {views.length > 1 && (
        <SegmentedControl
          size="xs"
          mb="xs"
          aria-label={`View of ${file.file_name}`}
          value={view}
          data={views.map((name) => ({ value: name, label: VIEWS[name] }))}
          onChange={(name) => setView(name as View)}
        />
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section className={classes.text} tabIndex={0} aria-label={`Text of ${file.file_name}`}>
        <pre>{view === 'text' ? file.text : <Diff text={file[view]} />}</pre>
      </section>
    </Panel>
  );
}

function Check({ file }: { file: Export }) {
  if (file.check_command === '') return <p className={classes.unchecked}>{file.verdict}</p>;
  const Icon = file.check_ok ? IconCircleCheck : IconCircleX;
  return (
    <div className={classes.check} data-ok={file.check_ok}>
      <span className={classes.verdict}>
        <Icon size={17} stroke={2} aria-hidden />
        {file.check_ok ? 'Accepted by this check' : 'Refused by this check'}
      </span>
      <span className={classes.command}>
        <code>{file.check_command}</code>
        <CopyText text={file.check_command} label="Copy command" />
      </span>
      {file.check_output && (
        <details className={classes.output}>
          <summary>What the check said</summary>
          <pre>{file.check_output}</pre>
        </details>
      )}
    </div>
  );
}
