import { fireEvent, screen, waitFor } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { parallelAxis } from '../maths/parallelAxes';
import { renderInApp } from '../test/render';
import { ParallelCoordinates } from './ParallelCoordinates';

/** A context that does nothing but count how often a line is drawn. */
function countStrokes() {
  const stroke = vi.fn();
  const context = new Proxy(
    { stroke, measureText: () => ({ width: 10 }) },
    {
      get: (known, name) => known[name as keyof typeof known] ?? (() => {}),
      set: () => true,
    },
  );
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(context as never);
  return stroke;
}

it('a brush that is drawn and let go keeps its range, and redraws no line on its way', async () => {
  vi.spyOn(Element.prototype, 'clientWidth', 'get').mockReturnValue(500);
  HTMLElement.prototype.setPointerCapture = () => {};
  const stroke = countStrokes();
  const onBrush = vi.fn();
  await renderInApp(
    <ParallelCoordinates
      label="Trials"
      axes={[parallelAxis('workers', [1, 2, 3, 4]), parallelAxis('score', [10, 20])]}
      lines={[{ values: [1, 10], colour: 0, kept: true }]}
      height={300}
      onBrush={onBrush}
    />,
  );
  const canvas = screen.getByRole('img', { name: 'Trials' });
  await waitFor(() => expect(stroke.mock.calls.length).toBeGreaterThan(0));
  const drawn = stroke.mock.calls.length;
  fireEvent.pointerDown(canvas, { clientX: 56, clientY: 30 });
  for (let y = 40; y <= 160; y += 10) fireEvent.pointerMove(canvas, { clientX: 56, clientY: y });
  expect(stroke.mock.calls.length).toBe(drawn);
  fireEvent.pointerUp(canvas, { clientX: 56, clientY: 160 });
  expect(onBrush).toHaveBeenCalledWith('workers', { low: 3, high: 4 });
});
