import { Table } from '@mantine/core';
import type { ComparedRun } from '../../api/generated';
import { GainText } from '../../components/GainText';
import { TextLink } from '../../components/links';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { formatCount, formatMbps } from '../../maths/format';
import { searches } from '../../maths/presets';
import classes from './Compare.module.css';

/** The highest point of the winner's curve; null without one. */
const peakOf = ({ curve }: ComparedRun) =>
  curve.length === 0 ? null : Math.max(...curve.map(({ goodput_mbps }) => goodput_mbps));

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

interface ScoresPanelProps {
  runs: readonly ComparedRun[];
  /** Whether a score of one run says anything beside one of another. */
  comparable: boolean;
}

/** Each run's winner: its rank, its scores, on a common scale where they compare, its peak, its gain over its own default. */
export function ScoresPanel({ runs, comparable }: ScoresPanelProps) {
  const scores = runs.flatMap(({ scores_mbps }) => scores_mbps);
  const range = { low: Math.min(...scores), high: Math.max(...scores) };
  return (
    <Panel
      title="Winners"
      description={
        comparable
          ? 'Each dot is a verified trial of the winner, the line their mean; all runs on one scale.'
          : 'Scores of different ladders, workloads or hosts have no common scale; peak goodput is the same figure everywhere.'
      }
    >
      <ScrollTable label="Winners of the runs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Run</Table.Th>
            <Table.Th ta="right">Rank</Table.Th>
            <Table.Th ta="right">Mean score</Table.Th>
            <Table.Th ta="right">Trials</Table.Th>
            {comparable && <Table.Th>Distribution</Table.Th>}
            <Table.Th ta="right">Peak goodput</Table.Th>
            <Table.Th ta="right">Gain over default</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {runs.map((run) => (
            <Table.Tr key={run.id}>
              <Table.Td>
                <TextLink to="/runs/$id" params={{ id: run.id }} size="sm">
                  Run {run.id}
                </TextLink>
              </Table.Td>
              <Table.Td ta="right">{run.rank ?? '–'}</Table.Td>
              <Table.Td ta="right">
                {run.scores_mbps.length === 0 ? '–' : formatMbps(mean(run.scores_mbps))}
              </Table.Td>
              <Table.Td ta="right">{formatCount(run.scores_mbps.length)}</Table.Td>
              {comparable && (
                <Table.Td>
                  <DotStrip values={run.scores_mbps} range={range} />
                </Table.Td>
              )}
              <Table.Td ta="right">{formatMbps(peakOf(run))}</Table.Td>
              <Table.Td ta="right">
                <WinnersGain run={run} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </ScrollTable>
    </Panel>
  );
}

/** The gain in capacity; in score where that is all that is known. */
function WinnersGain({ run }: { run: ComparedRun }) {
  if (!searches(run.preset)) return 'no search';
  if (!run.confirmed) return 'not confirmed';
  if (run.capacity_gain === null && run.gain !== null)
    return (
      <>
        <GainText gain={run.gain} /> in score
      </>
    );
  return <GainText gain={run.capacity_gain} atLeast={run.capacity_at_least} />;
}

/** In percent of the width, which the table decides. */
const WIDTH = 100;
const EDGE = 4;

function DotStrip({ values, range }: { values: readonly number[]; range: { low: number; high: number } }) {
  if (values.length === 0) return null;
  const x = (value: number) =>
    range.high === range.low
      ? WIDTH / 2
      : EDGE + ((value - range.low) / (range.high - range.low)) * (WIDTH - 2 * EDGE);
  const percent = (place: number) => `${place}%`;
  const average = percent(x(mean(values)));
  const text = `From ${formatMbps(Math.min(...values))} to ${formatMbps(Math.max(...values))}`;
  return (
    <svg className={classes.strip} role="img">
      <title>{text}</title>
      <line
        x1={percent(EDGE)}
        x2={percent(WIDTH - EDGE)}
        y1={10}
        y2={10}
        stroke="var(--tt-border)"
        strokeWidth={2}
      />
      {[...new Set(values)].map((value) => (
        <circle
          key={value}
          cx={percent(x(value))}
          cy={10}
          r={4}
          fill="var(--mantine-primary-color-filled)"
          opacity={0.6}
        />
      ))}
      <line x1={average} x2={average} y1={2} y2={18} stroke="var(--tt-text)" strokeWidth={2} />
    </svg>
  );
}
