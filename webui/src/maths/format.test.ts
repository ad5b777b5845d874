import { describe, expect, it } from 'vitest';
import figures from './figures.json';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatGain,
  formatMbps,
  formatMicroseconds,
  formatNumber,
  formatPercent,
  formatRate,
  formatShare,
  formatSi,
  formatTime,
  formatUnit,
} from './format';

describe('formatNumber', () => {
  it.each([
    [0, '0'],
    [0.001234, '0.00123'],
    [1.2345, '1.23'],
    [12.345, '12.3'],
    [123.45, '123'],
    [1234.5, '1,235'],
    [1234567, '1,234,567'],
    [-2.5, '-2.50'],
    [Number.NaN, '–'],
    [null, '–'],
  ])('%s is written %s', (value, text) => {
    expect(formatNumber(value)).toBe(text);
  });
});

it('a count has no decimals', () => {
  expect(formatCount(9999.6)).toBe('10,000');
});

it.each([
  [999, '/s', '999/s'],
  [12_300, '/s', '12.3\u00a0k/s'],
  [999_900, 'B', '1.00\u00a0MB'],
  [0, 'x', '0\u00a0x'],
])('%s %s gets the prefix of its size', (value, unit, text) => {
  expect(formatSi(value, unit)).toBe(text);
});

it('goodput and rates carry their units, and a missing value carries none', () => {
  expect(formatMbps(940.12)).toBe('940\u00a0Mbps');
  expect(formatRate(8123.4)).toBe('8,123\u00a0requests/s');
  expect(formatMbps(null)).toBe('–');
  expect(formatRate(undefined)).toBe('–');
});

it.each([
  [512, '512\u00a0B'],
  [1023, '1,023\u00a0B'],
  [2 ** 20 - 1, '1.00\u00a0MiB'],
  [5_123_580, '4.89\u00a0MiB'],
  [3 * 2 ** 30, '3.00\u00a0GiB'],
])('%s bytes are %s', (value, text) => {
  expect(formatBytes(value)).toBe(text);
});

it.each([
  [300, '300\u00a0µs'],
  [999.6, '1.00\u00a0ms'],
  [2100, '2.10\u00a0ms'],
  [999_900, '1.00\u00a0s'],
  [1_500_000, '1.50\u00a0s'],
])('%s microseconds are %s', (value, text) => {
  expect(formatMicroseconds(value)).toBe(text);
});

it.each([
  [0, '0\u00a0s'],
  [0.4, '0.4\u00a0s'],
  [0.97, '1\u00a0s'],
  [4.4, '4\u00a0s'],
  [303, '5\u00a0min\u00a003\u00a0s'],
  [7800, '2\u00a0h\u00a010\u00a0min'],
  [273_600, '3\u00a0d\u00a04\u00a0h'],
  [null, '–'],
])('%s seconds are %s', (value, text) => {
  expect(formatDuration(value)).toBe(text);
});

it.each([
  [1.2412, '+124\u00a0%'],
  [12.5, '+1,250\u00a0%'],
  [0.0996, '+10\u00a0%'],
  [0.0994, '+9.9\u00a0%'],
  [-0.05, '-5.0\u00a0%'],
  [0.0001, '0.0\u00a0%'],
  [-0.0001, '0.0\u00a0%'],
])('a gain of %s is written %s', (value, text) => {
  expect(formatGain(value)).toBe(text);
});

it('a share is written in per cent', () => {
  expect(formatPercent(0.5)).toBe('50\u00a0%');
  expect(formatPercent(0.1234, 1)).toBe('12.3\u00a0%');
});

it.each([
  [0, '0'],
  [0.4, '0.4'],
  [5, '5'],
  [9.96, '10'],
  [12.4, '12'],
  [1321.4, '1,321'],
])('a rate of %s is %s requests per second, and never none', (rate, text) => {
  expect(formatRate(rate)).toBe(`${text}\u00a0requests/s`);
});

it('goodput keeps its unit, so that figures compare digit by digit', () => {
  expect(formatMbps(4000)).toBe('4,000\u00a0Mbps');
  expect(formatUnit(4000, 'Mbps')).toBe(formatMbps(4000));
});

it.each([
  [12.34, '%', '12.3\u00a0%'],
  [1, 'connections', '1\u00a0connection'],
  [2100, 'us', '2.10\u00a0ms'],
  [2048, 'By', '2.00\u00a0KiB'],
  [0.4, 'requests/s', '0.4\u00a0requests/s'],
  [3, 'tasks', '3.00\u00a0tasks'],
  [3, '', '3.00'],
])('%s with the unit %s is %s', (value, unit, text) => {
  expect(formatUnit(value, unit)).toBe(text);
});

it('a time that cannot be read is shown as missing', () => {
  expect(formatTime('not a time')).toBe('–');
  expect(formatTime('2026-11-21T12:00:00Z')).toMatch(/^2[12] Nov 2026, \d\d:\d\d:\d\d [A-Z]/);
  expect(formatTime(0)).toContain('19');
});

it('says how sure an interval is without digits that say nothing', () => {
  expect(formatShare(0.95)).toBe('95\u00a0%');
  expect(formatShare(1 - 0.05 / 3)).toBe('98.3\u00a0%');
});

const HERE: Record<keyof typeof figures, (value: number) => string> = {
  counts: formatCount,
  figures: (value) => formatNumber(value),
  mbps: formatMbps,
  frequencies: (value) => formatUnit(value, '1/s'),
  gains: formatGain,
  shares: (value) => formatPercent(value),
  confidences: formatShare,
};

it.each(Object.entries(figures))('%s are those of terminal and reports', (kind, rows) => {
  const format = HERE[kind as keyof typeof figures];
  for (const [value, text] of rows as [number, string][])
    expect(format(value).replaceAll('\u00a0', ' ')).toBe(text);
});
