// Shares of timeouts by file size, as the verification counts them. Pure.

import type { Measurement, SizeClassCounts, TrialDetail } from '../../api/generated';

export interface SizeClassRow {
  counts: SizeClassCounts;
  /** Of the requests the server had read, how many timed out. */
  share: number;
  /** The rules this size breaks at this rate. */
  broken: string[];
}

const read = ({ replied, timed_out_after_read, failed }: SizeClassCounts) =>
  replied + timed_out_after_read + failed;

export function sizeClassRows(trial: TrialDetail, measurement: Measurement) {
  const own = trial.violations.filter(({ rate_rps }) => rate_rps === measurement.rate_rps);
  const rows = measurement.size_classes.map(
    (counts): SizeClassRow => ({
      counts,
      share: read(counts) === 0 ? 0 : counts.timed_out_after_read / read(counts),
      broken: own.filter(({ size_bytes }) => size_bytes === counts.size_bytes).map(({ rule }) => rule),
    }),
  );
  const requests = measurement.size_classes.reduce((sum, counts) => sum + read(counts), 0);
  const timeouts = measurement.size_classes.reduce((sum, counts) => sum + counts.timed_out_after_read, 0);
  return {
    rows,
    all: requests === 0 ? 0 : timeouts / requests,
    limit: trial.thresholds.size_limit ?? 0,
    allLimit: trial.thresholds.all_files_limit ?? 0,
  };
}
