// Every trial as a line over one axis for each knob, coloured by its score. Drawn by hand on a canvas: ten
// thousand lines are too many for anything that keeps an object for each.
//
// Dragging along an axis brushes it. Whoever uses the keyboard writes the same range into the filter of the trials.

import { type PointerEvent, useEffect, useRef, useState } from 'react';
import { lineCss } from '../maths/colourScale';
import type { KnobValue } from '../maths/knobDiff';
import type { ParallelAxis } from '../maths/parallelAxes';
import { useChartTheme } from './chartTheme';

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

interface Brush {
  axis: number;
  from: number;
  to: number;
}

export function ParallelCoordinates({ label, axes, lines, height, onBrush }: ParallelCoordinatesProps) {
  const theme = useChartTheme();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [brush, setBrush] = useState<Brush | null>(null);
  const xOf = (index: number) =>
    MARGIN.left +
    (axes.length === 1 ? 0.5 : index / (axes.length - 1)) * (width - MARGIN.left - MARGIN.right);
  const span = height - MARGIN.top - MARGIN.bottom;
  const yOf = (position: number) => MARGIN.top + (1 - position) * span;

  useEffect(() => {
    const parent = canvas.current?.parentElement;
    if (!parent) return;
    const observer = new ResizeObserver(() => setWidth(parent.clientWidth));
    observer.observe(parent);
    setWidth(parent.clientWidth);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    element.width = width * ratio;
    element.height = height * ratio;
    context.scale(ratio, ratio);
    context.clearRect(0, 0, width, height);
    const draw = ({ values, colour, kept }: ParallelLine) => {
      context.strokeStyle = !kept || colour === null ? theme.dimmed : lineCss(colour, theme.lines);
      context.globalAlpha = kept ? (lines.length > 500 ? 0.35 : 0.75) : 0.06;
      context.setLineDash(colour === null ? [3, 3] : []);
      context.beginPath();
      let drawing = false;
      values.forEach((value, index) => {
        const position = axes[index]?.position(value) ?? Number.NaN;
        if (Number.isNaN(position)) drawing = false;
        else if (drawing) context.lineTo(xOf(index), yOf(position));
        else {
          context.moveTo(xOf(index), yOf(position));
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
    context.font = "12px 'Inter Variable', system-ui, sans-serif";
    axes.forEach((axis, index) => {
      const x = xOf(index);
      context.strokeStyle = theme.dimmed;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x, yOf(1));
      context.lineTo(x, yOf(0));
      context.stroke();
      context.fillStyle = theme.text;
      context.textAlign = 'center';
      context.fillText(axis.name, x, 14);
      context.textAlign = 'left';
      for (const tick of axis.ticks) {
        const y = yOf(tick.at) + 4;
        const textWidth = context.measureText(tick.label).width;
        context.fillStyle = theme.surface;
        context.globalAlpha = 0.8;
        context.fillRect(x + 4, y - 11, textWidth + 4, 14);
        context.globalAlpha = 1;
        context.fillStyle = theme.dimmed;
        context.fillText(tick.label, x + 6, y);
      }
    });
    if (brush) {
      context.fillStyle = theme.series[0] as string;
      context.globalAlpha = 0.35;
      context.fillRect(
        xOf(brush.axis) - 7,
        Math.min(brush.from, brush.to),
        14,
        Math.abs(brush.to - brush.from),
      );
      context.globalAlpha = 1;
    }
  });

  const place = (event: PointerEvent<HTMLCanvasElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  return (
    <canvas
      ref={canvas}
      role="img"
      aria-label={label}
      style={{ width: '100%', height, cursor: 'crosshair', touchAction: 'pan-y' }}
      onPointerDown={(event) => {
        const { x, y } = place(event);
        const axis = axes.findIndex((_, index) => Math.abs(xOf(index) - x) <= AXIS_REACH_PX);
        if (axis < 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setBrush({ axis, from: y, to: y });
      }}
      onPointerMove={(event) => brush && setBrush({ ...brush, to: place(event).y })}
      onPointerUp={(event) => {
        if (!brush) return;
        const axis = axes[brush.axis];
        const positionOf = (y: number) => 1 - (y - MARGIN.top) / span;
        // Not where the brush was drawn last, which a quick hand leaves behind.
        const { y } = place(event);
        if (axis && Math.abs(y - brush.from) < SHORTEST_BRUSH_PX) onBrush(axis.name, null);
        else if (axis) onBrush(axis.name, axis.within(positionOf(brush.from), positionOf(y)));
        setBrush(null);
      }}
      onPointerCancel={() => setBrush(null)}
    />
  );
}
