// Numbers as people read them: with a unit, three significant digits, and the same digits everywhere. No line ends
// between a number and its unit.

const NONE = '–';
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

/** Thousands set apart by a narrow no-break space. */
function group(digits: string): string {
  const [whole = '', fraction] = digits.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** Three significant digits, no exponent; whole numbers above 1,000 keep all of theirs. */
export function formatNumber(value: number | null | undefined, significant = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  if (value === 0) return '0';
  const magnitude = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(significant)))));
  const decimals = Math.min(6, Math.max(0, significant - 1 - magnitude));
  return group(value.toFixed(decimals)).replace('-', '−');
}

/** A count: always whole. */
export function formatCount(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  return group(Math.round(value).toString()).replace('-', '−');
}

/** `12.3 k`-style with an SI prefix before the unit, e.g. `formatSi(12_300, 'req/s')` = `12.3 kreq/s`. */
export function formatSi(value: number | null | undefined, unit = ''): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  const { factor, prefix } = SI.find((step) => Math.abs(value) >= step.factor * 0.9995) ?? {
    factor: 1,
    prefix: '',
  };
  return `${formatNumber(value / factor)}\u00a0${prefix}${unit}`.trimEnd();
}

/** Goodput, given in 10^6 bit/s. */
export function formatMbps(value: number | null | undefined): string {
  return value === null || value === undefined || !Number.isFinite(value)
    ? NONE
    : `${formatNumber(value)}\u00a0Mbps`;
}

export function formatRate(rps: number | null | undefined): string {
  return rps === null || rps === undefined || !Number.isFinite(rps) ? NONE : `${formatCount(rps)}\u00a0req/s`;
}

export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined || !Number.isFinite(bytes)) return NONE;
  const step = BINARY.find(({ factor }) => Math.abs(bytes) >= factor);
  return step ? `${formatNumber(bytes / step.factor)}\u00a0${step.unit}` : `${formatCount(bytes)}\u00a0B`;
}

/** A latency, given in microseconds. */
export function formatMicroseconds(us: number | null | undefined): string {
  if (us === null || us === undefined || !Number.isFinite(us)) return NONE;
  if (Math.abs(us) < 1000) return `${formatNumber(us)}\u00a0µs`;
  return Math.abs(us) < 1e6 ? `${formatNumber(us / 1e3)}\u00a0ms` : `${formatNumber(us / 1e6)}\u00a0s`;
}

/** A duration in words short enough for a table: `42 s`, `5 min 03 s`, `2 h 10 min`, `3 d 4 h`. */
export function formatDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE;
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole}\u00a0s`;
  const two = (n: number) => n.toString().padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)}\u00a0min\u00a0${two(whole % 60)}\u00a0s`;
  if (whole < 86_400)
    return `${Math.floor(whole / 3600)}\u00a0h\u00a0${two(Math.floor((whole % 3600) / 60))}\u00a0min`;
  return `${Math.floor(whole / 86_400)}\u00a0d\u00a0${Math.floor((whole % 86_400) / 3600)}\u00a0h`;
}

/** A share (0.123) as a signed percentage: `+12.3 %`. */
export function formatGain(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return NONE;
  const percent = (Math.abs(share) * 100).toFixed(1);
  return `${Number(percent) === 0 ? '±' : share < 0 ? '−' : '+'}${percent}\u00a0%`;
}

/** How sure an interval is: `95 %`, `98.3 %`. */
export const formatConfidence = (share: number): string => `${Number((100 * share).toPrecision(3))}\u00a0%`;

export function formatPercent(share: number | null | undefined, decimals = 0): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return NONE;
  return `${(share * 100).toFixed(decimals)}\u00a0%`;
}

/** A point in time in the reader's own zone, to the second: `21 Nov 2026, 14:03:22`. */
export function formatTime(iso: string | null | undefined): string {
  if (!iso) return NONE;
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return NONE;
  return date.toLocaleString('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
}
