import type { MeasurementLine } from '../api/generated';
import type { LadderSoFar } from '../api/useProgress';

/** What the trial under way has measured, with one rate more; begun anew where that is of another trial. */
export function withMeasurement(known: LadderSoFar | null | undefined, line: MeasurementLine): LadderSoFar {
  const before = known?.run_id === line.run_id && known.trial === line.trial ? known.measurements : [];
  return {
    run_id: line.run_id,
    trial: line.trial,
    measurements: [...before.filter(({ number }) => number < line.number), line],
  };
}
