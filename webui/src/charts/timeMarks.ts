// Where trials (with their number where there is room) and rates begin, in charts over time: notches in a lane above
// the plot, so that nothing lies over the curves. While they are few, a trial also has a thin line behind them.
//
// The marks come with the first dataset, as they change with the data: Chart.js takes plugins only once, and new
// options cost more than new data.

import type { Plugin } from 'chart.js';
import type { Mark } from '../samples/sampleStore';
import type { ChartTheme } from './chartTheme';

/** More marks than this are one grey bar: then only trials are marked, and more trials than this without a line. */
const MOST_MARKS = 40;
/** Between the label of a trial and the next. */
const LABEL_GAP_PX = 6;
/** Heights of notches, and what keeps them off the plot. */
const TRIAL_PX = 12;
const RATE_PX = 4;
const GAP_PX = 2;
const LINE_ALPHA = 0.22;

interface DrawnMarks {
  marks: readonly Mark[];
  lines: boolean;
  colour: string;
}

/** What a dataset carries for `timeMarks`: all marks, or only the trials' where there are many. */
export function marksToDraw(marks: readonly Mark[], theme: ChartTheme): DrawnMarks {
  const shown = marks.length <= MOST_MARKS ? marks : marks.filter(({ kind }) => kind === 'trial');
  return { marks: shown, lines: shown.length <= MOST_MARKS, colour: theme.dimmed };
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
      const isTrial = kind === 'trial';
      context.globalAlpha = isTrial ? 1 : 0.6;
      // A long notch would cross the number beside the one before.
      const long = isTrial && left >= labelEnd;
      line(context, left, area.top - GAP_PX - (long ? TRIAL_PX : RATE_PX), area.top - GAP_PX);
      if (!isTrial) continue;
      if (drawn.lines) {
        context.globalAlpha = LINE_ALPHA;
        line(context, left, area.top, area.bottom);
        context.globalAlpha = 1;
      }
      const label = `#${trial}`;
      const labelRight = left + 3 + context.measureText(label).width;
      if (left < labelEnd || labelRight > area.right) continue;
      context.fillText(label, left + 3, area.top - GAP_PX - RATE_PX);
      labelEnd = labelRight + LABEL_GAP_PX;
    }
    context.restore();
  },
};
