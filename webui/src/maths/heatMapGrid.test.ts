import { describe, expect, it } from 'vitest';
import { cellKey, type GridTrial, heatMapGrid, varyingKnobs } from './heatMapGrid';

function trial(
  number: number,
  workers: number,
  connections: number,
  score: number | null,
  sendfile = 'blocking',
): GridTrial {
  return {
    number,
    configuration: { sendfile, workers, max_connections: connections },
    verdict: score === null ? 'crashed' : 'verified',
    reason: score === null ? 'the server died' : '',
    score,
  };
}

describe('heatMapGrid', () => {
  it('sorts axis values as numbers and makes one facet for each sendfile', () => {
    const grid = heatMapGrid(
      [trial(1, 16, 1024, 5), trial(2, 2, 64, 3, 'nonblocking'), trial(3, 1, 256, 4)],
      'max_connections',
      'workers',
      ['sendfile'],
    );
    expect(grid.xs).toEqual([64, 256, 1024]);
    expect(grid.ys).toEqual([1, 2, 16]);
    expect(grid.facets.map((facet) => facet.label)).toEqual([
      { sendfile: 'blocking' },
      { sendfile: 'nonblocking' },
    ]);
    expect(grid.scale).toEqual({ low: 3, high: 5, step: 0 });
  });

  it('shows the best at a place, and forgets a failure once something there was verified', () => {
    const grid = heatMapGrid(
      [trial(1, 1, 64, null), trial(2, 1, 64, 4), trial(3, 1, 64, 5)],
      'max_connections',
      'workers',
      [],
    );
    const cell = grid.facets[0]?.cells.get(cellKey(64, 1));
    expect(cell?.score).toBe(5);
    expect(cell?.failure).toBeNull();
    expect(cell?.trials).toHaveLength(3);
  });

  it('keeps the reason of a cell in which nothing was verified', () => {
    const grid = heatMapGrid([trial(1, 1, 64, null)], 'max_connections', 'workers', []);
    expect(grid.facets[0]?.cells.get(cellKey(64, 1))?.failure?.reason).toBe('the server died');
    expect(grid.scale).toBeNull();
  });

  it('makes room for the configuration under way without giving it a cell', () => {
    const grid = heatMapGrid([trial(1, 1, 64, 5)], 'max_connections', 'workers', ['sendfile'], {
      sendfile: 'nonblocking',
      workers: 4,
      max_connections: 32,
    });
    expect(grid.xs).toEqual([32, 64]);
    expect(grid.ys).toEqual([1, 4]);
    expect(grid.facets.map(({ cells }) => cells.size)).toEqual([1, 0]);
  });

  it('is empty without trials', () => {
    expect(heatMapGrid([], 'a', 'b', [])).toEqual({ xs: [], ys: [], facets: [], scale: null });
  });
});

it('only knobs that take several values vary', () => {
  const configurations = [trial(1, 1, 64, 1), trial(2, 1, 128, 1)].map((t) => t.configuration);
  expect(varyingKnobs(configurations)).toEqual(['max_connections']);
});
