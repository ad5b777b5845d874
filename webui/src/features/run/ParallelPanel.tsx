import { memo, useMemo } from 'react';
import type { RunDetail, TrialSummary } from '../../api/generated';
import { ChartFigure } from '../../charts/ChartFigure';
import { ParallelCoordinates } from '../../charts/ParallelCoordinates';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { formatCount, formatMbps, formatNumber } from '../../maths/format';
import { varyingKnobs } from '../../maths/heatMapGrid';
import type { KnobValue } from '../../maths/knobDiff';
import { parallelAxis } from '../../maths/parallelAxes';
import { scorePosition, scoreScale } from '../../maths/scoreScale';
import { freePart } from '../../maths/space';

interface ParallelPanelProps {
  run: RunDetail;
  trials: readonly TrialSummary[];
  /** Numbers of the trials that the filter keeps. */
  kept: ReadonlySet<number>;
  /** Relative standard deviation of a single trial; null while it is not known. */
  noise: number | null;
  onBrush: (knob: string, range: { low: KnobValue; high: KnobValue } | null) => void;
}

/** More axes than this stand too close to be told apart. */
const MOST_AXES = 9;
const MOST_TABLE_ROWS = 200;

/** Which values of all knobs go with high scores. */
export const ParallelPanel = memo(function ParallelPanel({
  run,
  trials,
  kept,
  noise,
  onBrush,
}: ParallelPanelProps) {
  const search = useMemo(() => trials.filter(({ purpose }) => purpose === 'search'), [trials]);
  const { axes, lines, knobs } = useMemo(() => {
    const varying = varyingKnobs(search.map(({ configuration }) => freePart(configuration, run.space)));
    const shown = varying.slice(0, MOST_AXES);
    const scores = search.flatMap(({ score }) => (score === null ? [] : [score]));
    const scale = scoreScale(scores, noise);
    const score = parallelAxis('score', scores.length === 0 ? [0] : scores, (value) =>
      formatNumber(Number(value)),
    );
    return {
      knobs: shown,
      axes: [
        ...shown.map((knob) =>
          parallelAxis(
            knob,
            search.flatMap(({ configuration }) => configuration[knob] ?? []),
            (value) => (typeof value === 'number' ? formatCount(value) : value),
          ),
        ),
        score,
      ],
      lines: search.map((trial) => ({
        number: trial.number,
        values: [...shown.map((knob) => trial.configuration[knob]), trial.score],
        colour: trial.score === null || scale === null ? null : scorePosition(trial.score, scale),
      })),
    };
  }, [search, run.space, noise]);
  const drawn = useMemo(() => lines.map((line) => ({ ...line, kept: kept.has(line.number) })), [lines, kept]);
  return (
    <Panel
      title="Knobs and score together"
      description="Each line is a trial; light is a high score, dashes are trials without one. Drag along an axis to keep a range, click it to let go. The filter below says the same in words."
    >
      {knobs.length === 0 ? (
        <Message title="There is nothing to compare yet.">Lines appear once trials differ in a knob.</Message>
      ) : (
        <ChartFigure
          label={`Trials over ${knobs.join(', ')} and score: ${formatCount(search.length)} lines, ${formatCount(drawn.filter((line) => line.kept).length)} of them kept by the filter.`}
          height={300}
          table={() => ({
            columns: ['Trial', ...knobs, 'Score'],
            rows: search
              .filter(({ number }) => kept.has(number))
              .toSorted((a, b) => (b.score ?? 0) - (a.score ?? 0))
              .slice(0, MOST_TABLE_ROWS)
              .map((trial) => [
                String(trial.number),
                ...knobs.map((knob) => String(trial.configuration[knob])),
                formatMbps(trial.score),
              ]),
          })}
        >
          {(described) => (
            <ParallelCoordinates label={described} axes={axes} lines={drawn} height={300} onBrush={onBrush} />
          )}
        </ChartFigure>
      )}
    </Panel>
  );
});
