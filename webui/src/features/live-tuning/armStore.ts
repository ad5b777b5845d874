// The samples of a live session as charts over time ask for them: by arm and figure, `canary.service_ms`.

import type { LiveArm, LiveSampleReply } from '../../api/generated';
import { type Point, samplesPerPoint, windowPoints } from '../../maths/decimate';
import { RingBuffer } from '../../maths/ringBuffer';

export const ARMS = ['production', 'baseline', 'canary'] as const;
export type Arm = (typeof ARMS)[number];

const FIGURES = ['requests_per_s', 'cpu_s_per_1000', 'service_ms', 'errors_per_s', 'waiting'] as const;
export type ArmFigure = (typeof FIGURES)[number];

const CHANGES = ['cost', 'time', 'errors'] as const;
const EDGES = CHANGES.flatMap((change) => [`${change}.low`, `${change}.high`]);
const COLUMNS = ['share', ...EDGES, ...ARMS.flatMap((arm) => FIGURES.map((figure) => `${arm}.${figure}`))];
const COLUMN = new Map(COLUMNS.map((name, index) => [name, index]));

/** A chart shows at most so many points. */
const MAX_POINTS = 300;
/** After so many seconds without a sample a curve has a gap: one comes every ten seconds at least. */
const PAUSE_S = 35;

export class ArmStore {
  private readonly rows: RingBuffer;

  /** `samples` are in order of time. */
  constructor(samples: readonly LiveSampleReply[]) {
    this.rows = new RingBuffer(Math.max(1, 2 * samples.length), COLUMNS.length);
    for (const { at, data } of samples) {
      const time = Date.parse(at) / 1000;
      if (time - this.rows.lastTime > PAUSE_S && this.rows.length > 0) this.rows.push(time - 1, []);
      const change = CHANGES.flatMap((name) => data.change?.[name] ?? [null, null]);
      const arms = ARMS.flatMap((arm) => figuresOf(data[arm]));
      this.rows.push(
        time,
        [data.share, ...change, ...arms].map((value) => value ?? Number.NaN),
      );
    }
  }

  /** Time of the newest sample, in seconds since the epoch; NaN without any. */
  get now(): number {
    return this.rows.length > 0 ? this.rows.lastTime : Number.NaN;
  }

  points(column: string, now: number, windowSeconds: number): Point[] {
    const index = COLUMN.get(column);
    if (index === undefined) return [];
    return windowPoints(this.rows, index, now, windowSeconds, samplesPerPoint(windowSeconds, 1, MAX_POINTS));
  }
}

const figuresOf = (arm: LiveArm | null): (number | null)[] => FIGURES.map((figure) => arm?.[figure] ?? null);
