// A map of cells by two knobs. Every cell carries its score as text, or a cross: colour only repeats it.

import type { Chart as ChartInstance, ChartOptions } from 'chart.js';
import { useRef } from 'react';
import { Chart } from 'react-chartjs-2';
import { cssColour } from '../maths/colourScale';
import type { Cell, Facet, HeatMapGrid } from '../maths/heatMapGrid';
import type { KnobValue } from '../maths/knobDiff';
import { ChartFigure } from './ChartFigure';
import { type ChartTheme, useChartTheme } from './chartTheme';
import { cellMarks, type MapCell, mapCells } from './heatMapCells';
import { usePulse } from './usePulse';

interface HeatMapProps {
  label: string;
  grid: HeatMapGrid;
  facet: Facet;
  xName: string;
  yName: string;
  /** The place being measured now, on this facet. */
  current: { x: KnobValue; y: KnobValue } | null;
  selectedTrial: number | undefined;
  format: (score: number) => string;
  onSelect: (trial: number) => void;
}

const ROW_HEIGHT_PX = 44;
const AXIS_HEIGHT_PX = 52;
const GAP_PX = 3;
const WIDEST_CELL_PX = 120;
const Y_AXIS_PX = 80;
const NO_SCORE_COLOUR = 'transparent';

export function HeatMap(props: HeatMapProps) {
  const { label, grid, facet, xName, yName, current, selectedTrial, format, onSelect } = props;
  const theme = useChartTheme();
  const cells = mapCells({ grid, facet, current, selectedTrial, format, theme });
  const chart = useRef<MatrixChart>(null);
  usePulse(chart, current !== null);
  const xs = grid.xs.map(String);
  const ys = grid.ys.map(String);
  return (
    <ChartFigure
      label={label}
      height={AXIS_HEIGHT_PX + ys.length * ROW_HEIGHT_PX}
      maxWidth={Y_AXIS_PX + xs.length * WIDEST_CELL_PX}
      table={() => ({
        columns: [xName, yName, 'Score', 'Trials'],
        rows: [...facet.cells.values()].map((cell) => [
          String(cell.x),
          String(cell.y),
          scoreOrReason(cell, format),
          trialNumbers(cell),
        ]),
      })}
    >
      {(described) => (
        <Chart
          ref={chart}
          aria-label={described}
          type="matrix"
          updateMode="none"
          data={{
            datasets: [
              {
                label,
                // The controller places points by category labels, which its types do not foresee.
                data: cells as unknown as { x: number; y: number }[],
                backgroundColor: ({ dataIndex }: { dataIndex: number }) => {
                  const colour = cells[dataIndex]?.colour;
                  return colour ? cssColour(colour) : NO_SCORE_COLOUR;
                },
                width: ({ chart }: { chart: ChartInstance }) => cellSide(chart.chartArea?.width, xs.length),
                height: ({ chart }: { chart: ChartInstance }) => cellSide(chart.chartArea?.height, ys.length),
                borderWidth: 0,
              },
            ],
          }}
          options={mapOptions(theme, [xName, xs], [yName, ys], cells, format, onSelect)}
          plugins={[cellMarks]}
        />
      )}
    </ChartFigure>
  );
}

const cellSide = (span: number | undefined, count: number): number =>
  Math.max(1, (span ?? 0) / count - GAP_PX);

type MatrixChart = ChartInstance<'matrix', { x: number; y: number }[]>;

const trialNumbers = (cell: Cell): string => cell.trials.map(({ number }) => number).join(', ');

const scoreOrReason = (cell: Cell, format: (score: number) => string): string =>
  cell.score === null ? `${cell.failure?.verdict}: ${cell.failure?.reason}` : format(cell.score);

function tooltipLines({ cell, current }: MapCell, format: (score: number) => string): string[] {
  if (cell === null) return ['being measured'];
  return [
    scoreOrReason(cell, format),
    `trial ${trialNumbers(cell)}${current ? ', being measured again' : ''}`,
  ];
}

type Axis = readonly [name: string, labels: string[]];

function mapOptions(
  theme: ChartTheme,
  [xName, xs]: Axis,
  [yName, ys]: Axis,
  cells: readonly MapCell[],
  format: (score: number) => string,
  onSelect: (trial: number) => void,
): ChartOptions<'matrix'> {
  const axis = (name: string, labels: string[]) => ({
    type: 'category' as const,
    labels,
    offset: true,
    grid: { display: false },
    border: { display: false },
    ticks: { color: theme.dimmed, maxRotation: 0, autoSkipPadding: 4 },
    title: { display: true, text: name, color: theme.dimmed },
  });
  return {
    onClick: (_event, [hit]) => {
      const trial = hit && cells[hit.index]?.cell?.trials.at(-1);
      if (trial) onSelect(trial.number);
    },
    plugins: {
      tooltip: {
        displayColors: false,
        callbacks: {
          title: ([item]) => {
            const place = cells[item?.dataIndex ?? -1];
            return place ? `${xName} ${place.x}, ${yName} ${place.y}` : '';
          },
          label: ({ dataIndex }) => {
            const place = cells[dataIndex];
            return place ? tooltipLines(place, format) : '';
          },
        },
      },
    },
    scales: { x: axis(xName, xs), y: { ...axis(yName, ys), reverse: true } },
  };
}
