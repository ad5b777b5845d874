// Numbers as people read them: with a unit, three significant digits, and the same digits everywhere: those of the
// terminal and the reports, which `tuner/trimtab_tuner/wording.py` makes (`33,388 requests/s`, `1,363/s`, `98 %`,
// `+124 %`). No line ends between a number and its unit. Nothing else in the web UI makes texts of numbers or times.
//
// Goodput is told in Mbps and rates in requests per second however large they are: figures beside each other then
// compare digit by digit. What is counted for the sake of an impression has a prefix (`12.3 k/s`).

import { tickText } from './ticks';

const NONE = '–';
/** No figure has more. */
const DECIMALS = 6;
const SI = [
  { factor: 1e9, prefix: 'G' },
  { factor: 1e6, prefix: 'M' },
  { factor: 1e3, prefix: 'k' },
  { factor: 1, prefix: '' },
] as const;
const BINARY = [
  { factor: 2 ** 40, unit: 'TiB' },
  { factor: 2 ** 30, unit: 'GiB' },
  { factor: 2 ** 20, unit: 'MiB' },
  { factor: 2 ** 10, unit: 'KiB' },
] as const;

/** From here on a value is written with the next unit: `1,024 KiB` is `1.00 MiB`, and `1,000 µs` is `1.00 ms`. */
const BINARY_EDGE = 1023.5 / 1024;
const DECIMAL_EDGE = 0.9995;

/** Thousands set apart by commas. */
function group(digits: string): string {
  const [whole = '', fraction] = digits.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** Three significant digits, no exponent; whole numbers above 1,000 keep all of theirs. */
export function formatNumber(value: number | null | undefined, significant = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  if (value === 0) return '0';
  const magnitude = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(significant)))));
  const decimals = Math.min(DECIMALS, Math.max(0, significant - 1 - magnitude));
  return group(value.toFixed(decimals));
}

/** A figure of a target or a rule, with the unit that came with it. */
export function formatUnit(value: number, unit: string): string {
  if (unit === 'Mbps') return formatMbps(value);
  if (unit === 'B' || unit === 'By') return formatBytes(value);
  if (unit === 'us' || unit === 'µs') return formatMicroseconds(value);
  if (unit === 'requests/s') return formatRate(value);
  if (unit === '1/s') return `${formatNumber(value)}/s`;
  if (unit === 'connections') return formatConnections(value);
  return `${formatNumber(value)}\u00a0${unit}`.trimEnd();
}

/** A count: always whole. */
export function formatCount(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  return group(Math.round(value).toString());
}

/** With an SI prefix before the unit: `formatSi(12_300, '/s')` = `12.3 k/s`. Without one `/s` follows the number at once. */
export function formatSi(value: number | null | undefined, unit = ''): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  const { factor, prefix } = SI.find((step) => Math.abs(value) >= step.factor * DECIMAL_EDGE) ?? {
    factor: 1,
    prefix: '',
  };
  const apart = prefix === '' && unit === '/s' ? '' : '\u00a0';
  return `${formatNumber(value / factor)}${apart}${prefix}${unit}`.trimEnd();
}

/** A count for the sake of an impression: whole below a thousand, else with a prefix, `12.3 k`. */
export function formatMany(value: number | null | undefined): string {
  return value !== null && value !== undefined && value < 1000 ? formatCount(value) : formatSi(value);
}

export const formatConnections = (count: number | null | undefined): string =>
  `${formatCount(count)}\u00a0${count === 1 ? 'connection' : 'connections'}`;

/** What happens so many times a second: `999/s`, `12.3 k/s`. */
export const formatPerSecond = (value: number | null | undefined): string => formatSi(value, '/s');

/** Goodput, given in 10^6 bit/s. */
export function formatMbps(value: number | null | undefined): string {
  return value === null || value === undefined || !Number.isFinite(value)
    ? NONE
    : `${formatNumber(value)}\u00a0Mbps`;
}

/** Requests per second: whole, but for the few that would be none then (`0.4 requests/s`). */
export function formatRate(rps: number | null | undefined): string {
  if (rps === null || rps === undefined || !Number.isFinite(rps)) return NONE;
  const text = Math.abs(rps) < 10 ? tickText(formatNumber(rps, 2)) : formatCount(rps);
  return `${text}\u00a0requests/s`;
}

export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined || !Number.isFinite(bytes)) return NONE;
  const step = BINARY.find(({ factor }) => Math.abs(bytes) >= factor * BINARY_EDGE);
  return step ? `${formatNumber(bytes / step.factor)}\u00a0${step.unit}` : `${formatCount(bytes)}\u00a0B`;
}

/** A latency, given in microseconds. */
export function formatMicroseconds(us: number | null | undefined): string {
  if (us === null || us === undefined || !Number.isFinite(us)) return NONE;
  if (Math.abs(us) < 1e3 * DECIMAL_EDGE) return `${formatNumber(us)}\u00a0µs`;
  return Math.abs(us) < 1e6 * DECIMAL_EDGE
    ? `${formatNumber(us / 1e3)}\u00a0ms`
    : `${formatNumber(us / 1e6)}\u00a0s`;
}

/** CPU time, given in seconds: of a thousand requests it is a matter of milliseconds. */
export const formatCpu = (seconds: number | null | undefined): string =>
  formatMicroseconds(seconds === null || seconds === undefined ? null : 1e6 * seconds);

/** Memory of a server, given in bytes: in MB, as its limits are written and the outcome tells it. */
export const formatMegabytes = (bytes: number | null | undefined): string =>
  bytes === null || bytes === undefined ? NONE : `${formatNumber(bytes / 1e6)}\u00a0MB`;

/** A duration in words short enough for a table: `42 s`, `5 min 03 s`, `2 h 10 min`, `3 d 4 h`. */
export function formatDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE;
  if (seconds > 0 && seconds < 0.95) return `${formatNumber(seconds, 1)}\u00a0s`;
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole}\u00a0s`;
  const two = (n: number) => n.toString().padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)}\u00a0min\u00a0${two(whole % 60)}\u00a0s`;
  if (whole < 86_400)
    return `${Math.floor(whole / 3600)}\u00a0h\u00a0${two(Math.floor((whole % 3600) / 60))}\u00a0min`;
  return `${Math.floor(whole / 86_400)}\u00a0d\u00a0${Math.floor((whole % 86_400) / 3600)}\u00a0h`;
}

/**
 * A gain or a loss (0.0123) as a signed percentage, with a decimal below ten: `+1.2 %`, `+124 %`, `-0.4 %`. Of a fall
 * that leaves less than half a percent, what is left has two digits: `-99.73 %`, and not `-100 %`. Zero has no sign.
 */
export function formatGain(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return NONE;
  const percent = 100 * share;
  const left = 100 + percent;
  let decimals = Number(Math.abs(percent).toFixed(1)) < 10 ? 1 : 0;
  if (left > 0 && left < 0.5) decimals = Math.min(DECIMALS, 1 - Math.floor(Math.log10(left)));
  const text = group(percent.toFixed(decimals));
  if (Number(percent.toFixed(decimals)) === 0) return `${text.replace('-', '')}\u00a0%`;
  return `${percent < 0 ? text : `+${text}`}\u00a0%`;
}

/** A share of 1 that somebody has decided, in all of its digits: how sure an interval is, what may be lost (`98.3 %`). */
export const formatShare = (share: number): string => `${Number((100 * share).toPrecision(3))}\u00a0%`;

export function formatPercent(share: number | null | undefined, decimals = 0): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return NONE;
  return `${(share * 100).toFixed(decimals)}\u00a0%`;
}

/**
 * A point in time, as a text or in ms since the epoch, in the reader's own zone, which is named, to the second:
 * `21 Nov 2026, 14:03:22 CET`.
 */
export function formatTime(at: string | number | null | undefined): string {
  if (at === null || at === undefined || at === '') return NONE;
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return NONE;
  return date.toLocaleString('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
  });
}
