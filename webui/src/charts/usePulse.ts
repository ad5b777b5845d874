import type { Chart, ChartType } from 'chart.js';
import { type RefObject, useEffect } from 'react';

const PULSE_MS = 600;

/** What a chart draws that pulses, at this opacity. */
export interface Pulsing {
  pulse?: number;
}

/** Lets the frame of the place under way fade in and out, unless its viewer wants no motion or looks elsewhere. */
export function usePulse<Type extends ChartType, Data, Label>(
  chart: RefObject<Chart<Type, Data, Label> | null>,
  active: boolean,
): void {
  useEffect(() => {
    if (!active || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    const timer = setInterval(() => {
      const own = chart.current as (Chart<Type, Data, Label> & Pulsing) | null;
      if (own === null || document.visibilityState !== 'visible') return;
      own.pulse = own.pulse === 0.35 ? 1 : 0.35;
      own.draw();
    }, PULSE_MS);
    return () => clearInterval(timer);
  }, [chart, active]);
}
