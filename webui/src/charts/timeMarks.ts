// Vertical lines in charts over time: where trials (solid, with their number) and rates (dashed) begin.
//
// The marks come with the first dataset, as they change with the data: Chart.js takes plugins only once, and new
// options cost more than new data.

import type { Plugin } from 'chart.js';
import type { Mark } from '../live/liveStore';
import type { ChartTheme } from './chartTheme';

/** More marks than this would hide the curves: then only the trials are marked. */
const MOST_MARKS = 40;
/** Labels closer together than this would overlap. */
const LABEL_PX = 34;

interface DrawnMarks {
  marks: readonly Mark[];
  colour: string;
}

/** The marks that are drawn: all, or only the trials' where there are too many, or none. */
export function shownMarks(marks: readonly Mark[]): readonly Mark[] {
  if (marks.length <= MOST_MARKS) return marks;
  const trials = marks.filter(({ kind }) => kind === 'trial');
  return trials.length <= MOST_MARKS ? trials : [];
}

/** What a dataset carries for `timeMarks`. */
export const marksToDraw = (marks: readonly Mark[], theme: ChartTheme): DrawnMarks => ({
  marks: shownMarks(marks),
  colour: theme.dimmed,
});

export const timeMarks: Plugin<'line'> = {
  id: 'timeMarks',
  beforeDatasetsDraw(chart) {
    const { ctx: context, chartArea: area, scales } = chart;
    const drawn = (chart.data.datasets[0] as { timeMarks?: DrawnMarks } | undefined)?.timeMarks;
    const axis = scales.x;
    if (axis === undefined || drawn === undefined) return;
    context.save();
    context.font = "11px 'Inter Variable', system-ui, sans-serif";
    context.fillStyle = drawn.colour;
    context.strokeStyle = drawn.colour;
    context.lineWidth = 1;
    let labelEnd = Number.NEGATIVE_INFINITY;
    for (const { x, kind, trial } of drawn.marks) {
      const left = Math.round(axis.getPixelForValue(x)) + 0.5;
      if (left < area.left || left > area.right) continue;
      context.globalAlpha = kind === 'trial' ? 0.8 : 0.45;
      context.setLineDash(kind === 'trial' ? [] : [2, 3]);
      context.beginPath();
      context.moveTo(left, area.top);
      context.lineTo(left, area.bottom);
      context.stroke();
      if (kind !== 'trial' || left < labelEnd || left > area.right - LABEL_PX / 2) continue;
      context.globalAlpha = 1;
      context.fillText(`#${trial}`, left + 3, area.top + 9);
      labelEnd = left + LABEL_PX;
    }
    context.restore();
  },
};
