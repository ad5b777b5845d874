// Vertical lines in charts over time: where trials (solid, with their number where there is room) and rates (dashed)
// begin. Many trials get faint lines, each with a clear notch at the top, so that the curves stay readable.
//
// The marks come with the first dataset, as they change with the data: Chart.js takes plugins only once, and new
// options cost more than new data.

import type { Plugin } from 'chart.js';
import type { Mark } from '../live/liveStore';
import type { ChartTheme } from './chartTheme';

/** More marks than this would hide the curves: then only trials are marked, and more trials than this faintly. */
const MOST_MARKS = 40;
/** Between the labels of two trials. */
const LABEL_GAP_PX = 6;
const NOTCH_PX = 5;

interface DrawnMarks {
  marks: readonly Mark[];
  faint: boolean;
  colour: string;
}

/** What a dataset carries for `timeMarks`: all marks, or only the trials' where there are many. */
export function marksToDraw(marks: readonly Mark[], theme: ChartTheme): DrawnMarks {
  const shown = marks.length <= MOST_MARKS ? marks : marks.filter(({ kind }) => kind === 'trial');
  return { marks: shown, faint: shown.length > MOST_MARKS, colour: theme.dimmed };
}

function line(context: CanvasRenderingContext2D, x: number, top: number, bottom: number): void {
  context.beginPath();
  context.moveTo(x, top);
  context.lineTo(x, bottom);
  context.stroke();
}

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
    let [last, labelEnd] = [Number.NaN, Number.NEGATIVE_INFINITY];
    for (const { x, kind, trial } of drawn.marks) {
      const left = Math.round(axis.getPixelForValue(x)) + 0.5;
      if (left < area.left || left > area.right || left === last) continue;
      last = left;
      context.globalAlpha = drawn.faint ? 0.25 : kind === 'trial' ? 0.8 : 0.45;
      context.setLineDash(kind === 'trial' ? [] : [2, 3]);
      line(context, left, area.top, area.bottom);
      if (kind !== 'trial') continue;
      context.globalAlpha = 1;
      if (drawn.faint) line(context, left, area.top, area.top + NOTCH_PX);
      const label = `#${trial}`;
      const labelRight = left + 3 + context.measureText(label).width;
      if (left < labelEnd || labelRight > area.right) continue;
      context.fillText(label, left + 3, area.top + NOTCH_PX + 9);
      labelEnd = labelRight + LABEL_GAP_PX;
    }
    context.restore();
  },
};
