// Texts and places of the marks on axes.

/** Steps between times that people count in, in seconds. */
const TIME_STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 180, 300, 600, 900];

/** A window's time axis: seconds before now, most negative first, at most so many steps apart where there is a choice. */
export function timeTicks(windowSeconds: number, most = 6): number[] {
  const step = TIME_STEPS_S.find((s) => windowSeconds / s <= most) ?? 1800;
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

/** A time of the day, of seconds since the epoch: `14:03:20`. */
export const formatClock = (seconds: number): string =>
  new Date(seconds * 1000).toLocaleTimeString('en-GB', { hourCycle: 'h23' });

/** Time since the beginning: `90` → `1:30`. */
export function formatElapsed(seconds: number): string {
  const whole = Math.round(Math.max(0, seconds));
  return `${Math.floor(whole / 60)}:${(whole % 60).toString().padStart(2, '0')}`;
}

/** A formatted number without the zeros that only show precision: `0.500/s` → `0.5/s`, `1.00` → `1`. */
export function tickText(formatted: string): string {
  return formatted.replace(/(\.\d*?)0+(?!\d)/, '$1').replace(/\.(?!\d)/, '');
}

/** The same where all charts have one narrow room for it, and the title says of what: `20,000 requests/s` → `20,000/s`. */
export const shortTickText = (formatted: string): string =>
  tickText(formatted).replace('\u00a0requests/s', '/s');

/** Marks for bytes from 0 up to `max`, a power of two apart but not less than one, at most `count` steps. */
export function byteTicks(max: number, count = 4): number[] {
  if (!(max > 0) || !Number.isFinite(max)) return [0];
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(max / count)));
  return Array.from({ length: Math.floor(max / step) + 1 }, (_, i) => i * step);
}

/** No logarithmic axis has more marks than this. */
const MOST_LOG_TICKS = 6;

/** Marks on a logarithmic axis: 1, 2 and 5 times the powers of ten in between, or only those where they are many. */
export function logTicks(min: number, max: number): number[] {
  if (!(min > 0) || !(max >= min) || !Number.isFinite(max)) return [];
  const powers = Array.from(
    { length: Math.ceil(Math.log10(max)) - Math.floor(Math.log10(min)) + 1 },
    (_, i) => 10 ** (Math.floor(Math.log10(min)) + i),
  );
  const within = (steps: readonly number[]) =>
    powers.flatMap((power) => steps.map((step) => step * power)).filter((at) => at >= min && at <= max);
  const fine = within([1, 2, 5]);
  if (fine.length <= MOST_LOG_TICKS) return fine;
  const coarse = within([1]);
  const every = Math.ceil(coarse.length / MOST_LOG_TICKS);
  return coarse.filter((_, i) => i % every === 0);
}

/** How wide a sign of a mark's text is, and how far two texts stay apart. */
const SIGN_PX = 7;
const APART_PX = 10;

/**
 * Those of ascending marks whose texts do not run into each other on an axis from `low` to `high`, so many pixels long.
 * The last one stays.
 */
export function marksApart(
  marks: readonly number[],
  text: (mark: number) => string,
  { low, high, lengthPx }: { low: number; high: number; lengthPx: number },
): number[] {
  const placePx = (mark: number) => ((mark - low) / (high - low || 1)) * lengthPx;
  const halfPx = (mark: number) => (text(mark).length * SIGN_PX) / 2;
  const clear = (left: number, right: number) =>
    placePx(right) - placePx(left) >= halfPx(left) + halfPx(right) + APART_PX;
  const last = marks.at(-1);
  const kept: number[] = [];
  for (const mark of marks) {
    const before = kept.at(-1);
    const besideLast = mark === last || clear(mark, last as number);
    if (besideLast && (before === undefined || clear(before, mark))) kept.push(mark);
  }
  return kept;
}
