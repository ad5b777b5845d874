// The runs there have been: looked for by words, tags, state and server, sorted by any column. All of it stands in the
// address. The browser has the newest runs and finds and sorts among them itself.

import { Button, Pagination, Select, Switch, TextInput } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import type { RunList } from '../../api/generated';
import { useRuns } from '../../api/useRuns';
import { Loadable } from '../../components/Loadable';
import { LinkButton } from '../../components/links';
import { Message } from '../../components/Message';
import { NoRuns } from '../../components/NoRuns';
import { Page } from '../../components/Page';
import { Panel } from '../../components/Panel';
import { RunTable } from '../../components/RunTable';
import { formatCount } from '../../maths/format';
import classes from './Runs.module.css';
import { listed, NEWEST_FIRST, type RunListSearch } from './runList';

const RUNS_PER_PAGE = 25;
/** The most that the daemon hands out at once. */
const RUNS_LOADED = 500;
const route = getRouteApi('/runs');

export function RunsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const runs = useRuns(RUNS_LOADED, 0, search.archived ?? false);
  /** Another look at the list begins on its first page. */
  const look = (change: RunListSearch) =>
    void navigate({ search: (before) => ({ ...before, page: undefined, ...change }), replace: true });
  return (
    <Page
      title="Runs"
      description="Every tuning run, newest first unless you sort them."
      actions={
        <>
          <Switch
            size="sm"
            label="Also archived ones"
            checked={search.archived ?? false}
            onChange={(event) => look({ archived: event.currentTarget.checked || undefined })}
          />
          <LinkButton to="/tune">New run</LinkButton>
        </>
      }
    >
      <Loadable query={runs} what="The runs" height={320}>
        {(list) =>
          list.total === 0 ? (
            <NoRuns action={<LinkButton to="/tune">Set up the first one</LinkButton>} />
          ) : (
            <List list={list} search={search} onLook={look} />
          )
        }
      </Loadable>
    </Page>
  );
}

interface ListProps {
  list: RunList;
  search: RunListSearch;
  onLook: (change: RunListSearch) => void;
}

function List({ list: { runs, total }, search, onLook }: ListProps) {
  const found = listed(runs, search);
  const pages = Math.ceil(found.length / RUNS_PER_PAGE);
  const page = Math.min(search.page ?? 1, Math.max(1, pages));
  const all = found.length === total;
  const plural = total === 1 ? 'run' : 'runs';
  return (
    <Panel
      title={
        all
          ? `${formatCount(total)} ${plural}`
          : `${formatCount(found.length)} of ${formatCount(total)} ${plural}`
      }
      {...(total > runs.length && {
        description: `Looked for among the newest ${formatCount(runs.length)}; trimtab runs --limit ${total}${search.archived ? ' --archived' : ''} lists all.`,
      })}
    >
      <Filters runs={runs} search={search} onLook={onLook} />
      {found.length === 0 ? (
        <Message
          title="No run is like that."
          action={
            <Button
              size="xs"
              variant="default"
              onClick={() => onLook({ text: undefined, tag: undefined, state: undefined, target: undefined })}
            >
              Show all
            </Button>
          }
        />
      ) : (
        <RunTable
          runs={found.slice((page - 1) * RUNS_PER_PAGE, page * RUNS_PER_PAGE)}
          sort={search.sort ?? NEWEST_FIRST}
          onSort={(sort) => onLook({ sort: sort === NEWEST_FIRST ? undefined : sort })}
        />
      )}
      {pages > 1 && (
        <Pagination
          mt="md"
          size="sm"
          value={page}
          total={pages}
          onChange={(next) => onLook({ page: next > 1 ? next : undefined })}
          getControlProps={(control) => ({ 'aria-label': `${control} page` })}
        />
      )}
    </Panel>
  );
}

/** What the runs have of a kind, each once. */
const among = (values: readonly string[]): string[] => [...new Set(values)].toSorted();

function Filters({ runs, search, onLook }: { runs: RunList['runs'] } & Omit<ListProps, 'list'>) {
  const [text, setText] = useState(search.text ?? '');
  const one = (label: string, name: 'tag' | 'state' | 'target', values: readonly string[]) => (
    <Select
      size="xs"
      label={label}
      placeholder="any"
      clearable
      data={among([...values, ...(search[name] === undefined ? [] : [search[name]])])}
      value={search[name] ?? null}
      onChange={(value) => onLook({ [name]: value ?? undefined })}
    />
  );
  const tags = runs.flatMap((run) => run.tags);
  return (
    <search className={classes.filters}>
      <TextInput
        size="xs"
        className={classes.search}
        type="search"
        label="Search"
        placeholder="words of the name, notes, tags, server…"
        value={text}
        onChange={({ currentTarget: { value } }) => {
          setText(value);
          onLook({ text: value.trim() || undefined });
        }}
      />
      {one(
        'Server',
        'target',
        runs.map(({ target }) => target),
      )}
      {one(
        'State',
        'state',
        runs.map(({ state }) => state),
      )}
      {(tags.length > 0 || search.tag !== undefined) && one('Tag', 'tag', tags)}
    </search>
  );
}
