// Runs side by side: which winner is better as far as that can be told, and what sets the runs apart.

import { MultiSelect, Switch } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useActions } from '../../actions/ActionsProvider';
import type { RunComparison } from '../../api/generated';
import { compareOptions } from '../../api/generated/@tanstack/react-query.gen';
import { useRuns } from '../../api/useRuns';
import { CurveChart } from '../../charts/CurveChart';
import { Loadable } from '../../components/Loadable';
import { TextLink } from '../../components/links';
import { Message } from '../../components/Message';
import { Page } from '../../components/Page';
import { Panel } from '../../components/Panel';
import { formatMbps } from '../../maths/format';
import { type NumberListText, numbersIn, textOf } from '../../maths/numberList';
import { rungsOf } from '../../maths/rungs';
import { runTitle } from '../../maths/runTitle';
import { ArchitecturesPanel } from './ArchitecturesPanel';
import classes from './Compare.module.css';
import { DifferencesTable } from './DifferencesTable';
import { ScoresPanel } from './ScoresPanel';

const route = getRouteApi('/compare');
const MOST_RUNS = 8;
const OFFERED_RUNS = 200;

export function ComparePage() {
  const { runs: text, all = false } = route.useSearch();
  const navigate = route.useNavigate();
  const known = useRuns(OFFERED_RUNS, 0, true);
  const chosen = numbersIn(text);
  // The last answer stays while another choice is read.
  const comparison = useQuery({
    ...compareOptions({ query: { run: chosen } }),
    enabled: chosen.length > 0,
    placeholderData: keepPreviousData,
  });
  const look = (change: { runs?: NumberListText; all?: boolean | undefined }) =>
    navigate({
      search: (before) => ({ ...before, ...change }),
      replace: true,
      resetScroll: false,
    });
  const onAll = (on: boolean) => look({ all: on || undefined });
  useActions([
    {
      title: all ? 'Show only what differs' : 'Show also what does not differ',
      keys: 'd',
      run: () => void onAll(!all),
    },
  ]);
  return (
    <Page
      title="Compare"
      description="Runs, architectures or workloads side by side. Winners that share a rank cannot be told apart."
    >
      <Loadable query={known} what="The runs" height={60}>
        {({ runs }) =>
          runs.length === 0 ? (
            <Message title="There has been no run yet." />
          ) : (
            <MultiSelect
              label="Runs"
              placeholder={chosen.length === 0 ? 'Choose runs' : ''}
              searchable
              clearable
              maxValues={MOST_RUNS}
              value={chosen.map(String)}
              data={runs.map((run) => ({
                value: String(run.id),
                label: [runTitle(run), run.target, run.workload, run.preset, ...run.tags].join(' · '),
              }))}
              onChange={(values) => look({ runs: textOf(values.map(Number)) })}
            />
          )
        }
      </Loadable>
      {chosen.length === 0 ? (
        <Message title="Choose the runs to compare.">Two or more.</Message>
      ) : (
        <Loadable query={comparison} what="The comparison" height={420}>
          {(data) => <Compared comparison={data} all={all} onAll={onAll} />}
        </Loadable>
      )}
    </Page>
  );
}

interface ComparedProps {
  comparison: RunComparison;
  all: boolean;
  onAll: (all: boolean) => void;
}

function Compared({ comparison, all, onAll }: ComparedProps) {
  const [first, second] = comparison.runs;
  if (first !== undefined && second === undefined) {
    return (
      <>
        <Message title="One run is no comparison.">
          Choose another one beside run {first.id}. What it has found itself stands on{' '}
          <TextLink to="/runs/$id" params={{ id: first.id }} underline="always">
            its own page
          </TextLink>
          .
        </Message>
        {comparison.architectures.length > 1 && <ArchitecturesPanel comparison={comparison} />}
      </>
    );
  }
  return <SideBySide comparison={comparison} all={all} onAll={onAll} />;
}

function SideBySide({ comparison, all, onAll }: ComparedProps) {
  const rungs = rungsOf(...comparison.runs.map(({ loop }) => loop));
  const curves = comparison.runs.flatMap((run, style) =>
    run.curve.length === 0
      ? []
      : [
          {
            label: `run ${run.id}`,
            style,
            points: run.curve.map(({ rate_rps, goodput_mbps }) => ({ x: rate_rps, y: goodput_mbps })),
          },
        ],
  );
  return (
    <>
      {comparison.differences.length > 0 && (
        <Message tone="warn" title="The scores of these runs do not compare.">
          {comparison.differences.join(' ')} Look at the curves and at peak goodput instead.
        </Message>
      )}
      <div className={classes.columns}>
        <ScoresPanel runs={comparison.runs} comparable={comparison.differences.length === 0} />
        <Panel
          title={`Goodput over ${rungs.over}`}
          description="Of each run’s winner, the mean of its trials."
        >
          {curves.length === 0 ? (
            <Message title="None of these runs has a verified trial." />
          ) : (
            <CurveChart
              label={`Goodput over ${rungs.over}`}
              xName={rungs.name}
              curves={curves}
              formatX={rungs.format}
              formatY={(goodput) => formatMbps(goodput)}
              height={300}
            />
          )}
        </Panel>
      </div>
      <ArchitecturesPanel comparison={comparison} />
      <Panel
        title="What sets them apart"
        actions={
          <Switch
            size="sm"
            label="Only differences"
            checked={!all}
            onChange={(event) => onAll(!event.currentTarget.checked)}
          />
        }
      >
        <DifferencesTable runs={comparison.runs} all={all} />
      </Panel>
    </>
  );
}
