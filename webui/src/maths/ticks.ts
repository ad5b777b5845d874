// Texts and places of the marks on axes.

/** A window's time axis: seconds before now, most negative first, in steps people count in. */
export function timeTicks(windowSeconds: number): number[] {
  const step = [5, 10, 15, 30, 60, 120, 180, 300, 600, 900].find((s) => windowSeconds / s <= 6) ?? 1800;
  const ticks: number[] = [];
  for (let t = -Math.floor(windowSeconds / step) * step; t <= 0; t += step) ticks.push(t === 0 ? 0 : t);
  return ticks;
}

/** `-90` → `−1:30`, `0` → `now`. */
export function formatSecondsAgo(seconds: number): string {
  if (seconds === 0) return 'now';
  const whole = Math.round(Math.abs(seconds));
  return `−${Math.floor(whole / 60)}:${(whole % 60).toString().padStart(2, '0')}`;
}

/** Time since the beginning: `90` → `1:30`. */
export function formatElapsed(seconds: number): string {
  const whole = Math.round(Math.max(0, seconds));
  return `${Math.floor(whole / 60)}:${(whole % 60).toString().padStart(2, '0')}`;
}

/** A formatted number without the zeros that only show precision: `0.500 /s` → `0.5 /s`, `1.00` → `1`. */
export function tickText(formatted: string): string {
  return formatted.replace(/(\.\d*?)0+(?!\d)/, '$1').replace(/\.(?!\d)/, '');
}

/** Marks for bytes from 0 up to `max`, a power of two apart, at most `count` steps. */
export function byteTicks(max: number, count = 4): number[] {
  if (!(max > 0) || !Number.isFinite(max)) return [0];
  const step = 2 ** Math.ceil(Math.log2(max / count));
  return Array.from({ length: Math.floor(max / step) + 1 }, (_, i) => i * step);
}
