// The cells of a heat map as Chart.js draws them, and the text and frames drawn on top of them.

import type { Plugin } from 'chart.js';
import { type Rgb, sequentialColour, textColourOn } from '../maths/colourScale';
import { type Cell, cellKey, type Facet, type HeatMapGrid } from '../maths/heatMapGrid';
import type { KnobValue } from '../maths/knobDiff';
import { scorePosition } from '../maths/scoreScale';
import type { ChartTheme } from './chartTheme';
import type { Pulsing } from './usePulse';

/** One place of the map with all that is drawn on it; x and y are labels of the axes. */
export interface MapCell {
  x: string;
  y: string;
  /** Null where the place is being measured for the first time. */
  cell: Cell | null;
  colour: Rgb | null;
  current: boolean;
  selected: boolean;
  text: string;
  textColour: string;
  outlineColour: string;
}

interface MapCellsInput {
  grid: HeatMapGrid;
  facet: Facet;
  current: { x: KnobValue; y: KnobValue } | null;
  selectedTrial: number | undefined;
  format: (score: number) => string;
  theme: ChartTheme;
}

/** What a cell without a score shows, so that the reason can be seen without colour. */
export const VERDICT_SYMBOLS: Readonly<Record<string, string>> = {
  'failed-verification': '✕',
  crashed: '!',
  unresponsive: '…',
  rejected: '⊘',
  'generator-limited': '≈',
  disturbed: '∿',
  'stopped-early': '↧',
  aborted: '□',
};

const verdictSymbol = (verdict: string | undefined) => VERDICT_SYMBOLS[verdict ?? ''] ?? '✕';

export function mapCells({ grid, facet, current, selectedTrial, format, theme }: MapCellsInput): MapCell[] {
  const currentKey = current && cellKey(current.x, current.y);
  const cells = [...facet.cells].map(([key, cell]): MapCell => {
    const colour =
      cell.score === null || !grid.scale ? null : sequentialColour(scorePosition(cell.score, grid.scale));
    return {
      x: String(cell.x),
      y: String(cell.y),
      cell,
      colour,
      current: key === currentKey,
      selected: cell.trials.some(({ number }) => number === selectedTrial),
      text: cell.score === null ? verdictSymbol(cell.failure?.verdict) : format(cell.score),
      textColour: colour ? textColourOn(colour) : theme.text,
      outlineColour: theme.dimmed,
    };
  });
  if (current && currentKey && !facet.cells.has(currentKey)) {
    cells.push({
      x: String(current.x),
      y: String(current.y),
      cell: null,
      colour: null,
      current: true,
      selected: false,
      text: '…',
      textColour: theme.text,
      outlineColour: theme.dimmed,
    });
  }
  return cells;
}

const NARROW_PX = 24;
const SMALL_PX = 44;

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

function strokeInside(context: CanvasRenderingContext2D, box: Box, lineWidth: number, dash: number[]): void {
  context.lineWidth = lineWidth;
  context.setLineDash(dash);
  context.strokeRect(
    box.x + lineWidth / 2,
    box.y + lineWidth / 2,
    box.width - lineWidth,
    box.height - lineWidth,
  );
}

/** Draws each cell's text, an outline where there is no colour, and the frames of the current and chosen one. */
export const cellMarks: Plugin<'matrix'> = {
  id: 'cellMarks',
  afterDatasetsDraw(chart) {
    const context = chart.ctx;
    const cells = chart.data.datasets[0]?.data as unknown as readonly MapCell[];
    context.save();
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    chart.getDatasetMeta(0).data.forEach((element, index) => {
      const cell = cells[index];
      if (!cell) return;
      const box = element.getProps(['x', 'y', 'width', 'height'] as never[], true) as unknown as Box;
      context.strokeStyle = cell.outlineColour;
      if (cell.colour === null) strokeInside(context, box, 1, []);
      context.strokeStyle = cell.textColour;
      if (cell.current) {
        const { pulse = 1 } = chart as Pulsing;
        context.globalAlpha = pulse;
        strokeInside(context, box, 3, [5, 3]);
        context.globalAlpha = 1;
      }
      if (!cell.current && cell.selected) strokeInside(context, box, 3, []);
      // A score that does not fit is told by the tooltip; why there is none is always to be seen.
      const isSymbol = cell.text.length === 1;
      if (!isSymbol && box.width < NARROW_PX) return;
      const size = isSymbol ? Math.min(16, box.width) : box.width < SMALL_PX ? 10 : 12;
      context.font = `600 ${size}px 'Inter Variable', system-ui, sans-serif`;
      context.fillStyle = cell.textColour;
      context.fillText(cell.text, box.x + box.width / 2, box.y + box.height / 2);
    });
    context.restore();
  },
};
