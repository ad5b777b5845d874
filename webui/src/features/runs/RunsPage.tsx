import { Pagination, Switch } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useRuns } from '../../api/useRuns';
import { Loadable } from '../../components/Loadable';
import { LinkButton } from '../../components/links';
import { Message } from '../../components/Message';
import { Page } from '../../components/Page';
import { Panel } from '../../components/Panel';
import { RunTable } from '../../components/RunTable';
import { formatCount } from '../../maths/format';

const RUNS_PER_PAGE = 25;
const route = getRouteApi('/runs');

/** The runs there have been, without those in the archive unless they are asked for. */
export function RunsPage() {
  const { page = 1, archived = false } = route.useSearch();
  const navigate = route.useNavigate();
  const runs = useRuns(RUNS_PER_PAGE, (page - 1) * RUNS_PER_PAGE, archived);
  const look = (page: number, archived: boolean) =>
    navigate({ search: { ...(page > 1 ? { page } : {}), ...(archived ? { archived } : {}) } });
  return (
    <Page
      title="Runs"
      description="Every tuning run, newest first."
      actions={
        <>
          <Switch
            size="sm"
            label="Also archived ones"
            checked={archived}
            onChange={(event) => look(1, event.currentTarget.checked)}
          />
          <LinkButton to="/tune">New run</LinkButton>
        </>
      }
    >
      <Loadable query={runs} what="The runs" height={320}>
        {({ runs: rows, total }) =>
          total === 0 ? (
            <Message
              title="There has been no run yet."
              action={<LinkButton to="/tune">Set up the first one</LinkButton>}
            />
          ) : (
            <Panel title={`${formatCount(total)} ${total === 1 ? 'run' : 'runs'}`}>
              <RunTable runs={rows} />
              {total > RUNS_PER_PAGE && (
                <Pagination
                  mt="md"
                  size="sm"
                  value={page}
                  total={Math.ceil(total / RUNS_PER_PAGE)}
                  onChange={(next) => look(next, archived)}
                  getControlProps={(control) => ({ 'aria-label': `${control} page` })}
                />
              )}
            </Panel>
          )
        }
      </Loadable>
    </Page>
  );
}
