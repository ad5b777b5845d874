import { memo, useMemo } from 'react';
import type { Importance, RunDetail, TrialSummary } from '../../api/generated';
import { CurveChart } from '../../charts/CurveChart';
import { Panel } from '../../components/Panel';
import { formatMbps } from '../../maths/format';
import classes from './Run.module.css';
import { slices } from './slices';

interface SlicesPanelProps {
  run: RunDetail;
  trials: readonly TrialSummary[];
  importance: Importance | null;
}

/** The scores over each knob alone. */
export const SlicesPanel = memo(function SlicesPanel({ run, trials, importance }: SlicesPanelProps) {
  const found = useMemo(() => slices(run.space, trials, importance), [run.space, trials, importance]);
  if (found.length === 0) return null;
  return (
    <Panel
      title="Each knob alone"
      description="The score of every trial over the values of one knob. The line is what the model of the search expects of a value when the other knobs take any."
    >
      <div className={classes.slices}>
        {found.map(({ knob, share, curves, ticks, formatX }) => (
          <div key={knob}>
            <h3 className={classes.mapTitle}>
              <code>{knob}</code> {share && <span className={classes.dimmed}>{share}</span>}
            </h3>
            <CurveChart
              label={`Scores over ${knob}`}
              xName={knob}
              curves={curves}
              formatX={formatX}
              formatY={formatMbps}
              xTicks={ticks}
              height={200}
              crossed="stopped early: an estimate"
            />
          </div>
        ))}
      </div>
    </Panel>
  );
});
