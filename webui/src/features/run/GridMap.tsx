// The map of a search whose configurations lie on a grid: one map, or one for each value of a third knob.

import { HeatMap } from '../../charts/HeatMap';
import { VERDICT_SYMBOLS } from '../../charts/heatMapCells';
import { formatMbps, formatNumber } from '../../maths/format';
import type { HeatMapGrid } from '../../maths/heatMapGrid';
import { facetLabel } from '../../maths/heatMapGrid';
import { describeConfiguration, sameConfiguration } from '../../maths/knobDiff';
import { LookSelect } from './LookSelect';
import classes from './Run.module.css';
import { ScoreLegend } from './ScoreLegend';
import { EACH, searchMap, TOGETHER } from './searchMap';
import type { SearchMapProps } from './searchMapProps';

export function GridMap(props: SearchMapProps) {
  const { current, axes, selected, noise, onBy, onSelect } = props;
  const map = searchMap(props);
  const { grid, facetKnobs, place } = map;
  return (
    <>
      <div className={classes.scale}>
        {map.choices.length > 1 && (
          <LookSelect
            label="Maps"
            value={map.by}
            options={map.choices.map((choice) => ({
              value: choice,
              label: choice === TOGETHER ? 'one' : choice === EACH ? 'each combination' : `each ${choice}`,
            }))}
            onChange={onBy}
          />
        )}
        {grid.scale && <ScoreLegend scale={grid.scale} noise={noise} />}
        {failures(grid).map((verdict) => (
          <span key={verdict}>
            {VERDICT_SYMBOLS[verdict] ?? '✕'} {verdict}
          </span>
        ))}
        {map.best && <span>the best of all trials at a place</span>}
        {current !== null && <span>dashed frame: being measured</span>}
        <span>solid frame: chosen trial</span>
      </div>
      <div className={classes.maps}>
        {grid.facets.map((facet) => {
          const name = describeConfiguration(facet.label);
          const here = current !== null && sameConfiguration(facetLabel(current, facetKnobs), facet.label);
          return (
            <div key={name}>
              {name && <h3 className={classes.mapTitle}>{name}</h3>}
              <HeatMap
                label={`Map of scores over ${axes.x} and ${axes.y}${name && `, ${name}`}: ${facet.cells.size} cells${rangeText(grid)}.`}
                grid={grid}
                facet={facet}
                xName={map.xName}
                yName={map.yName}
                current={here ? place(current) : null}
                selectedTrial={selected}
                format={(score) => formatNumber(score)}
                onSelect={onSelect}
              />
            </div>
          );
        })}
      </div>
    </>
  );
}

const failures = ({ facets }: HeatMapGrid): string[] => [
  ...new Set(
    facets.flatMap(({ cells }) => [...cells.values()].flatMap(({ failure }) => failure?.verdict ?? [])),
  ),
];

const rangeText = ({ scale }: HeatMapGrid): string =>
  scale ? `, from ${formatMbps(scale.low)} to ${formatMbps(scale.high)}` : '';
