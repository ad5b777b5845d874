// What charts over time draw: the samples of up to an hour, as rows of numbers.
//
// The Live page's store is filled by the live stream once a second, and with the stored samples of its window
// when that is chosen; the Trial page fills one of its own with the samples of a trial. Components subscribe to
// `version`; the rows themselves stay in a ring buffer and are never copied as a whole.

import type { CounterValues, WorkerCounters } from '../api/generated';
import { type Point, samplesPerPoint, windowPoints } from '../maths/decimate';
import { RingBuffer } from '../maths/ringBuffer';
import { columnNames, sampleRow } from './columns';

const LONGEST_WINDOW_S = 3600;
/** A chart shows at most so many points. */
export const MAX_POINTS = 300;
/** For so many seconds samples of the stream are kept, to follow a history which arrives after them. */
const RECENT_S = 120;
/** After so many intervals without a sample a curve has a gap instead of a line across it. */
const PAUSE_INTERVALS = 3.5;

/** Where a trial or a rate begins; `x` in seconds before now. */
export interface Mark {
  x: number;
  kind: 'trial' | 'rate';
  trial: number;
  rate: number;
}

export class SampleStore {
  cpus: number[] = [];
  missing: Record<string, string> = {};
  /** The server's workers as of the newest sample of the stream. */
  workers: readonly WorkerCounters[] = [];
  version = 0;
  /** How often stored samples have taken the place of the rows. */
  histories = 0;
  private columns = new Map<string, number>();
  private samples: RingBuffer | null = null;
  private recent: CounterValues[] = [];
  private readonly listeners = new Set<() => void>();

  constructor(private readonly capacity = LONGEST_WINDOW_S + 60) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly getVersion = (): number => this.version;

  /** Time of the newest sample, in seconds since the epoch by the daemon's clock; NaN before the first. */
  get now(): number {
    return this.samples && this.samples.length > 0 ? this.samples.lastTime : Number.NaN;
  }

  /** Seconds from the oldest to the newest sample. */
  get span(): number {
    return this.samples && this.samples.length > 0 ? this.samples.lastTime - this.samples.time(0) : 0;
  }

  /** The newest sample; one that is not newer than the last is ignored. */
  addSample(sample: CounterValues): void {
    this.recent = this.recent.filter(({ time }) => time > sample.time - RECENT_S);
    this.recent.push(sample);
    if (!this.push(sample)) return;
    this.workers = sample.server_workers?.workers ?? [];
    this.changed();
  }

  /** Stored samples in order of time: they come before what the stream has brought meanwhile. */
  addHistory(history: readonly CounterValues[]): void {
    this.samples = null;
    this.histories += 1;
    const newest = history.at(-1)?.time ?? Number.NEGATIVE_INFINITY;
    for (const sample of history) this.push(sample);
    for (const sample of this.recent) if (sample.time > newest) this.push(sample);
    this.changed();
  }

  /** What this store holds now, for charts that stand still while it goes on. */
  frozen(): SampleStore {
    const copy = new SampleStore(this.capacity);
    copy.cpus = this.cpus;
    copy.missing = this.missing;
    copy.workers = this.workers;
    copy.columns = this.columns;
    copy.samples = this.samples?.copy() ?? null;
    return copy;
  }

  points(column: string, now: number, windowSeconds: number): Point[] {
    const index = this.columns.get(column);
    if (this.samples === null || index === undefined) return [];
    const group = samplesPerPoint(windowSeconds, 1, MAX_POINTS);
    return windowPoints(this.samples, index, now, windowSeconds, group);
  }

  /** Where in the window a trial began, or a rate of one. */
  marks(now: number, windowSeconds: number): Mark[] {
    const { samples } = this;
    if (samples === null) return [];
    const [trialColumn, rateColumn] = this.markColumns();
    const marks: Mark[] = [];
    let [lastTrial, lastRate] = [Number.NaN, Number.NaN];
    for (let i = samples.firstSince(now - windowSeconds); i < samples.length; i++) {
      const time = samples.time(i);
      if (time > now) break;
      const [trial, rate] = [samples.value(i, trialColumn), samples.value(i, rateColumn)];
      if (Number.isNaN(trial) || (trial === lastTrial && rate === lastRate)) continue;
      marks.push({ x: time - now, kind: trial === lastTrial ? 'rate' : 'trial', trial, rate });
      [lastTrial, lastRate] = [trial, rate];
    }
    return marks;
  }

  private push(sample: CounterValues): boolean {
    const cpus = sample.cpu?.cpus.map(({ cpu }) => cpu) ?? this.cpus;
    if (this.samples === null || cpus.join() !== this.cpus.join()) {
      this.cpus = cpus;
      const names = columnNames(cpus);
      this.columns = new Map(names.map((name, index) => [name, index]));
      this.samples = new RingBuffer(this.capacity, names.length);
    }
    const pause = this.samples.length > 0 ? sample.time - this.samples.lastTime : 0;
    const interval = Math.max(1, sample.interval_s);
    if (pause > PAUSE_INTERVALS * interval) this.samples.push(sample.time - interval, []);
    const row = sampleRow(sample, cpus);
    const taken = this.continues(sample.time, row)
      ? this.samples.merge(sample.time, row)
      : this.samples.push(sample.time, row);
    if (taken) this.missing = sample.missing;
    return taken;
  }

  /**
   * Whether a row belongs into the last one: the same second, trial and rate. Ten samples a second would fill the ring
   * in six minutes, and no chart draws more than one.
   */
  private continues(time: number, row: readonly number[]): boolean {
    const { samples } = this;
    if (samples === null || samples.length === 0) return false;
    const last = samples.length - 1;
    return (
      Math.floor(samples.time(last)) === Math.floor(time) &&
      this.markColumns().every((column) => Object.is(samples.value(last, column), row[column]))
    );
  }

  private markColumns(): [number, number] {
    return [this.columns.get('trial') ?? 0, this.columns.get('rate') ?? 0];
  }

  private changed(): void {
    this.version += 1;
    for (const listener of this.listeners) listener();
  }
}
