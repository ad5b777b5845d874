// Time axes that count back from now.

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
