// The events of the live stream. OpenAPI describes what stands after `data:`; which goes with which name is
// written in the description of GET /api/v1/live.

import type {
  CounterValues,
  LadderChange,
  LogLine,
  Lost,
  MeasurementLine,
  Progress,
  RunChange,
  TrialLine,
} from '../api/generated';

interface Payloads {
  sample: CounterValues;
  progress: Progress;
  trial: TrialLine;
  measurement: MeasurementLine;
  run: RunChange;
  ladder: LadderChange;
  log: LogLine;
  lost: Lost;
}

export type LiveEvent = { [Name in keyof Payloads]: { event: Name; data: Payloads[Name] } }[keyof Payloads];

export const EVENT_NAMES: readonly (keyof Payloads)[] = [
  'sample',
  'progress',
  'trial',
  'measurement',
  'run',
  'ladder',
  'log',
  'lost',
];
