import { expect, it } from 'vitest';
import type { Mark } from '../samples/sampleStore';
import type { ChartTheme } from './chartTheme';
import { marksToDraw } from './timeMarks';

const theme = { dimmed: '#51606b' } as ChartTheme;
const mark = (kind: Mark['kind'], trial: number): Mark => ({ x: -trial, kind, trial, rate: 1000 });
const trials = (count: number) => Array.from({ length: count }, (_, i) => mark('trial', i + 1));

it('draws trials and rates while they are few', () => {
  const marks = [...trials(3), mark('rate', 3)];
  expect(marksToDraw(marks, theme)).toMatchObject({ marks, lines: true });
});

it('leaves the rates out where there are many marks', () => {
  const marks = [...trials(30), ...trials(30).map(({ trial }) => mark('rate', trial))];
  expect(marksToDraw(marks, theme)).toMatchObject({ marks: trials(30), lines: true });
});

it('marks every trial, but draws no lines, where there are many', () => {
  expect(marksToDraw(trials(300), theme)).toMatchObject({ marks: trials(300), lines: false });
});
