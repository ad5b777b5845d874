// What the Live page draws: the last quarter of an hour of samples and of the load generator's progress.
//
// Filled by the live stream once a second, and with the stored samples when the page opens. Components subscribe
// to `version`; the rows themselves stay in ring buffers and are never copied as a whole.

import type { CounterValues, LoadProgress } from '../api/generated';
import { type Point, samplesPerPoint, windowPoints } from '../maths/decimate';
import { RingBuffer } from '../maths/ringBuffer';
import { columnNames, sampleRow } from './columns';

export const LONGEST_WINDOW_S = 900;
const CAPACITY = LONGEST_WINDOW_S + 60;
const MAX_POINTS = 300;
const LOAD_COLUMNS = ['goodput', 'replyRate', 'p50', 'p99', 'sessions'] as const;
/** After so long without a row a curve has a gap instead of a line across it. */
const SAMPLE_PAUSE_S = 3.5;
const LOAD_PAUSE_S = 2.5;

export type LoadColumn = (typeof LOAD_COLUMNS)[number];

export class LiveStore {
  cpus: number[] = [];
  missing: Record<string, string> = {};
  version = 0;
  private columns = new Map<string, number>();
  private samples: RingBuffer | null = null;
  private readonly load = new RingBuffer(CAPACITY, LOAD_COLUMNS.length);
  /** Samples of the stream, kept to follow a history that arrives after them. */
  private readonly recent: CounterValues[] = [];
  private loadRunning = false;
  private newestAt = 0;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly clock: () => number = () => performance.now() / 1000) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly getVersion = (): number => this.version;

  /** Time of the newest sample, in seconds since the epoch by the daemon's clock; NaN before the first. */
  get now(): number {
    return this.samples && this.samples.length > 0 ? this.samples.lastTime : Number.NaN;
  }

  /** The newest sample; one that is not newer than the last is ignored. */
  addSample(sample: CounterValues): void {
    if (this.recent.length >= LONGEST_WINDOW_S) this.recent.shift();
    this.recent.push(sample);
    if (this.push(sample)) this.changed();
  }

  /** Stored samples in order of time: they come before what the stream has brought meanwhile. */
  addHistory(history: readonly CounterValues[]): void {
    this.samples = null;
    const newest = history.at(-1)?.time ?? Number.NEGATIVE_INFINITY;
    for (const sample of history) this.push(sample);
    for (const sample of this.recent) if (sample.time > newest) this.push(sample);
    this.changed();
  }

  /** The generator's last progress line, null when no load is being driven. */
  addLoad(load: LoadProgress | null): void {
    if (load === null || Number.isNaN(this.now)) return;
    const time = this.now + (this.clock() - this.newestAt);
    const row = [
      load.goodput_mbps,
      load.reply_rate_rps,
      (load.reply_p50_us ?? Number.NaN) / 1000,
      (load.reply_p99_us ?? Number.NaN) / 1000,
      load.sessions_open,
    ];
    if (this.load.push(time, row)) {
      this.loadRunning = true;
      this.changed();
    }
  }

  points(column: string, now: number, windowSeconds: number): Point[] {
    const index = this.columns.get(column);
    if (this.samples === null || index === undefined) return [];
    const group = samplesPerPoint(windowSeconds, 1, MAX_POINTS);
    return windowPoints(this.samples, index, now, windowSeconds, group);
  }

  loadPoints(column: LoadColumn, now: number, windowSeconds: number): Point[] {
    const group = samplesPerPoint(windowSeconds, 1, MAX_POINTS);
    return windowPoints(this.load, LOAD_COLUMNS.indexOf(column), now, windowSeconds, group);
  }

  private push(sample: CounterValues): boolean {
    const cpus = sample.cpu?.cpus.map(({ cpu }) => cpu) ?? this.cpus;
    if (this.samples === null || cpus.join() !== this.cpus.join()) {
      this.cpus = cpus;
      const names = columnNames(cpus);
      this.columns = new Map(names.map((name, index) => [name, index]));
      this.samples = new RingBuffer(CAPACITY, names.length);
    }
    const pause = this.samples.length > 0 ? sample.time - this.samples.lastTime : 0;
    if (pause > SAMPLE_PAUSE_S) this.samples.push(sample.time - 1, []);
    if (!this.samples.push(sample.time, sampleRow(sample, cpus))) return false;
    this.newestAt = this.clock();
    this.missing = sample.missing;
    if (this.loadRunning && sample.time - this.load.lastTime > LOAD_PAUSE_S) {
      this.load.push(sample.time, []);
      this.loadRunning = false;
    }
    return true;
  }

  private changed(): void {
    this.version += 1;
    for (const listener of this.listeners) listener();
  }
}
