import { expect, it } from 'vitest';
import { cellKey, heatMapGrid } from '../maths/heatMapGrid';
import type { ChartTheme } from './chartTheme';
import { mapCells } from './heatMapCells';

const theme = { text: 'black', dimmed: 'grey' } as ChartTheme;
const trial = (number: number, workers: number, score: number | null) => ({
  number,
  configuration: { workers, max_connections: 64 },
  verdict: score === null ? 'crashed' : 'verified',
  reason: '',
  score,
});

function cellsOf(current: { x: number; y: number } | null, selectedTrial?: number) {
  const grid = heatMapGrid(
    [trial(1, 1, 10), trial(2, 2, 20), trial(3, 4, null)],
    'max_connections',
    'workers',
    [],
  );
  const [facet] = grid.facets;
  if (!facet) throw new Error('no facet');
  const cells = mapCells({ grid, facet, current, selectedTrial, format: String, theme });
  return new Map(cells.map((cell) => [cellKey(cell.x, cell.y), cell]));
}

it('a score is text on a colour, a failure the sign of its verdict without one', () => {
  const cells = cellsOf(null);
  expect(cells.get('64|2')).toMatchObject({ text: '20' });
  expect(cells.get('64|2')?.colour).not.toBeNull();
  expect(cells.get('64|4')).toMatchObject({ text: '!', colour: null });
});

it('the place being measured is marked, whether it has a cell or not', () => {
  expect(cellsOf({ x: 64, y: 1 }).get('64|1')).toMatchObject({ current: true, text: '10' });
  const cells = cellsOf({ x: 64, y: 8 });
  expect(cells.size).toBe(4);
  expect(cells.get('64|8')).toMatchObject({ current: true, text: '…', cell: null });
});

it('the cell of the chosen trial is marked', () => {
  const cells = cellsOf(null, 2);
  expect([...cells.values()].filter(({ selected }) => selected).map(({ text }) => text)).toEqual(['20']);
});
