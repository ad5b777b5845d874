// The map of a search whose configurations lie anywhere: each a point at its own values.

import { ScatterMap, SHAPES } from '../../charts/ScatterMap';
import { formatMbps } from '../../maths/format';
import { LookSelect } from './LookSelect';
import classes from './Run.module.css';
import { ScoreLegend } from './ScoreLegend';
import { scatterPoints } from './scatterPoints';
import type { SearchMapProps } from './searchMapProps';

const SIGNS: Readonly<Record<(typeof SHAPES)[number], string>> = {
  circle: '●',
  rect: '■',
  triangle: '▲',
  rectRot: '◆',
};

export function PointMap(props: SearchMapProps) {
  const { axes, current, noise, onBy, onSelect } = props;
  const { points, x, y, scale, by, shapes, choices, place } = scatterPoints(props);
  const range = scale ? `, from ${formatMbps(scale.low)} to ${formatMbps(scale.high)}` : '';
  return (
    <>
      <div className={classes.scale}>
        {choices.length > 1 && <LookSelect label="Shape" value={by} options={choices} onChange={onBy} />}
        {scale && <ScoreLegend scale={scale} noise={noise} />}
        {shapes.map((value, index) => (
          <span key={value}>
            {SIGNS[SHAPES[index] ?? 'circle']} <code>{`${by}=${value}`}</code>
          </span>
        ))}
        {points.some(({ estimated }) => estimated) && <span>hollow: stopped early, an estimate</span>}
        {points.some(({ colour }) => colour === null) && <span>✕ no score</span>}
        {current !== null && <span>dashed frame: being measured</span>}
      </div>
      <ScatterMap
        label={`Map of scores over ${axes.x} and ${axes.y}: ${points.length} configurations${range}.`}
        points={points}
        x={x}
        y={y}
        current={current && place(current)}
        table={() => ({
          columns: ['Configuration', 'Score', 'Trials'],
          rows: points.map(({ told: [where = '', score = '', trials = ''] }) => [where, score, trials]),
        })}
        onSelect={onSelect}
      />
    </>
  );
}
