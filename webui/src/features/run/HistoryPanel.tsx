import { memo, useMemo } from 'react';
import type { TrialSummary } from '../../api/generated';
import { CurveChart } from '../../charts/CurveChart';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { formatCount, formatMbps } from '../../maths/format';
import { searchHistory } from './searchHistory';

interface HistoryPanelProps {
  trials: readonly TrialSummary[];
  standardScore: number | null;
}

/** Every trial of the search by its score, and the best until then. */
export const HistoryPanel = memo(function HistoryPanel({ trials, standardScore }: HistoryPanelProps) {
  const history = useMemo(() => searchHistory(trials), [trials]);
  return (
    <Panel
      title="History of the search"
      description="The score of each trial, and the best so far; the dotted line is the default. A line that has stayed flat for long says that more trials would hardly find more."
    >
      {history.trials.length === 0 ? (
        <Message title="No trial has a score yet.">Points appear as trials are recorded.</Message>
      ) : (
        <CurveChart
          label="Scores by trial"
          xName="Trial"
          wholeX
          curves={[
            { label: 'trials', points: history.trials, style: 4, shape: 'points' },
            { label: 'best so far', points: history.best, style: 1, shape: 'steps' },
          ]}
          formatX={formatCount}
          formatY={formatMbps}
          height={400}
          crossed="stopped early: an estimate"
          {...(standardScore === null
            ? {}
            : { threshold: { label: `default ${formatMbps(standardScore)}`, value: standardScore } })}
        />
      )}
    </Panel>
  );
});
