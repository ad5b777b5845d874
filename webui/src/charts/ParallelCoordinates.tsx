// Every trial as a line over one axis for each knob, coloured by its score. Drawn by hand on a canvas: ten
// thousand lines are too many for anything that keeps an object for each.
//
// Dragging along an axis brushes it. Whoever uses the keyboard writes the same range into the filter of the trials.

import { type PointerEvent, useEffect, useRef, useState } from 'react';
import { lineCss } from '../maths/colourScale';
import { elided } from '../maths/elided';
import type { KnobValue } from '../maths/knobDiff';
import { labelsApart, type ParallelAxis } from '../maths/parallelAxes';
import { type ChartTheme, useChartTheme } from './chartTheme';
import classes from './ParallelCoordinates.module.css';

export interface ParallelLine {
  /** One value for each axis, in their order. */
  values: readonly (KnobValue | null | undefined)[];
  /** 0…1 on the colour scale; null for a line without a score. */
  colour: number | null;
  /** Whether the filter keeps it; what is not kept is drawn faintly behind. */
  kept: boolean;
}

interface ParallelCoordinatesProps {
  label: string;
  axes: readonly ParallelAxis[];
  lines: readonly ParallelLine[];
  height: number;
  onBrush: (axis: string, range: { low: KnobValue; high: KnobValue } | null) => void;
}

const MARGIN = { left: 56, right: 56, top: 30, bottom: 16 };
const AXIS_REACH_PX = 28;
const SHORTEST_BRUSH_PX = 4;
const NAME_GAP_PX = 6;

interface Brush {
  axis: number;
  from: number;
  to: number;
}

interface Size {
  width: number;
  height: number;
  /** How many axes there are. */
  axes: number;
}

const spanOf = ({ height }: Size) => height - MARGIN.top - MARGIN.bottom;
const xAt = ({ width, axes }: Size, index: number) =>
  MARGIN.left + (axes === 1 ? 0.5 : index / (axes - 1)) * (width - MARGIN.left - MARGIN.right);
const yAt = (size: Size, position: number) => MARGIN.top + (1 - position) * spanOf(size);

export function ParallelCoordinates({ label, axes, lines, height, onBrush }: ParallelCoordinatesProps) {
  const theme = useChartTheme();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [brush, setBrush] = useState<Brush | null>(null);
  const size = { width, height, axes: axes.length };

  useEffect(() => {
    const parent = canvas.current?.parentElement;
    if (!parent) return;
    const observer = new ResizeObserver(() => setWidth(parent.clientWidth));
    observer.observe(parent);
    setWidth(parent.clientWidth);
    return () => observer.disconnect();
  }, []);

  // The brush lies above as an element of its own: while it moves, ten thousand lines stay as they are.
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    element.width = width * ratio;
    element.height = height * ratio;
    context.scale(ratio, ratio);
    context.clearRect(0, 0, width, height);
    const drawn = { width, height, axes: axes.length };
    drawLines(context, drawn, axes, lines, theme);
    drawAxes(context, drawn, axes, theme);
  }, [axes, lines, theme, width, height]);

  const place = (event: PointerEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  return (
    <div className={classes.box}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={label}
        style={{ width: '100%', height, cursor: 'crosshair', touchAction: 'pan-y' }}
        onPointerDown={(event) => {
          const { x, y } = place(event);
          const axis = axes.findIndex((_, index) => Math.abs(xAt(size, index) - x) <= AXIS_REACH_PX);
          if (axis < 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setBrush({ axis, from: y, to: y });
        }}
        onPointerMove={(event) => brush && setBrush({ ...brush, to: place(event).y })}
        onPointerUp={(event) => {
          if (!brush) return;
          const axis = axes[brush.axis];
          const positionOf = (y: number) => 1 - (y - MARGIN.top) / spanOf(size);
          // Not where the brush was drawn last, which a quick hand leaves behind.
          const { y } = place(event);
          if (axis && Math.abs(y - brush.from) < SHORTEST_BRUSH_PX) onBrush(axis.name, null);
          else if (axis) onBrush(axis.name, axis.within(positionOf(brush.from), positionOf(y)));
          setBrush(null);
        }}
        onPointerCancel={() => setBrush(null)}
      />
      {brush && (
        <div
          className={classes.brush}
          style={{
            left: xAt(size, brush.axis),
            top: Math.min(brush.from, brush.to),
            height: Math.abs(brush.to - brush.from),
            background: theme.series[0],
          }}
        />
      )}
    </div>
  );
}

function drawLines(
  context: CanvasRenderingContext2D,
  size: Size,
  axes: readonly ParallelAxis[],
  lines: readonly ParallelLine[],
  theme: ChartTheme,
): void {
  const draw = ({ values, colour, kept }: ParallelLine) => {
    context.strokeStyle = !kept || colour === null ? theme.dimmed : lineCss(colour, theme.lines);
    context.globalAlpha = kept ? (lines.length > 500 ? 0.35 : 0.75) : 0.06;
    context.setLineDash(colour === null ? [3, 3] : []);
    context.beginPath();
    let drawing = false;
    values.forEach((value, index) => {
      const position = axes[index]?.position(value) ?? Number.NaN;
      if (Number.isNaN(position)) drawing = false;
      else if (drawing) context.lineTo(xAt(size, index), yAt(size, position));
      else {
        context.moveTo(xAt(size, index), yAt(size, position));
        drawing = true;
      }
    });
    context.stroke();
  };
  context.lineWidth = 1.25;
  for (const line of lines) if (!line.kept) draw(line);
  for (const line of lines) if (line.kept) draw(line);
  context.globalAlpha = 1;
  context.setLineDash([]);
}

function drawAxes(
  context: CanvasRenderingContext2D,
  size: Size,
  axes: readonly ParallelAxis[],
  theme: ChartTheme,
): void {
  context.font = "12px 'Inter Variable', system-ui, sans-serif";
  const room = axes.length < 2 ? size.width : xAt(size, 1) - xAt(size, 0) - NAME_GAP_PX;
  axes.forEach((axis, index) => {
    const x = xAt(size, index);
    context.strokeStyle = theme.dimmed;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, yAt(size, 1));
    context.lineTo(x, yAt(size, 0));
    context.stroke();
    context.fillStyle = theme.text;
    context.textAlign = 'center';
    context.fillText(
      elided(axis.name, room, (text) => context.measureText(text).width),
      x,
      14,
    );
    context.textAlign = 'left';
    for (const tick of labelsApart(axis.ticks, spanOf(size))) {
      const y = yAt(size, tick.at) + 4;
      const textWidth = context.measureText(tick.label).width;
      context.fillStyle = theme.surface;
      context.globalAlpha = 0.8;
      context.fillRect(x + 4, y - 11, textWidth + 4, 14);
      context.globalAlpha = 1;
      context.fillStyle = theme.dimmed;
      context.fillText(tick.label, x + 6, y);
    }
  });
}
