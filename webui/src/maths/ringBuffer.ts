// The samples a tab remembers: a fixed number of rows, the oldest overwritten, nothing allocated per sample.

/** Rows of `columns` numbers each, with a time in seconds; a missing value is NaN. */
export class RingBuffer {
  private readonly times: Float64Array;
  private readonly values: Float64Array;
  private next = 0;
  private filled = 0;
  /** How many rows the last one is the mean of, for each column. */
  private readonly merged: Uint32Array;

  constructor(
    readonly capacity: number,
    readonly columns: number,
  ) {
    if (!(capacity >= 1) || !(columns >= 1)) throw new RangeError('a ring buffer has rows and columns');
    this.times = new Float64Array(capacity);
    this.values = new Float64Array(capacity * columns);
    this.merged = new Uint32Array(columns);
  }

  get length(): number {
    return this.filled;
  }

  get lastTime(): number {
    return this.filled === 0 ? Number.NEGATIVE_INFINITY : this.time(this.filled - 1);
  }

  /** Adds a row; one that is not later than the last is dropped (history and live stream overlap). */
  push(time: number, row: ArrayLike<number>): boolean {
    if (!(time > this.lastTime)) return false;
    this.times[this.next] = time;
    for (let column = 0; column < this.columns; column++) {
      const value = row[column] ?? Number.NaN;
      this.values[this.next * this.columns + column] = value;
      this.merged[column] = Number.isNaN(value) ? 0 : 1;
    }
    this.next = (this.next + 1) % this.capacity;
    this.filled = Math.min(this.filled + 1, this.capacity);
    return true;
  }

  /** Makes the last row the mean of those merged into it, at the time of the newest; false for one not later. */
  merge(time: number, row: ArrayLike<number>): boolean {
    if (this.filled === 0 || !(time > this.lastTime)) return false;
    const last = this.slot(this.filled - 1);
    this.times[last] = time;
    for (let column = 0; column < this.columns; column++) {
      const value = row[column] ?? Number.NaN;
      if (Number.isNaN(value)) continue;
      const place = last * this.columns + column;
      const before = this.merged[column] as number;
      const mean = before === 0 ? 0 : (this.values[place] as number);
      this.values[place] = mean + (value - mean) / (before + 1);
      this.merged[column] = before + 1;
    }
    return true;
  }

  /** The same rows once more, which stay as they are when this one goes on. */
  copy(): RingBuffer {
    const copy = new RingBuffer(this.capacity, this.columns);
    copy.times.set(this.times);
    copy.values.set(this.values);
    copy.merged.set(this.merged);
    copy.next = this.next;
    copy.filled = this.filled;
    return copy;
  }

  /** Time of row `index`, 0 being the oldest. */
  time(index: number): number {
    return this.times[this.slot(index)] as number;
  }

  value(index: number, column: number): number {
    return this.values[this.slot(index) * this.columns + column] as number;
  }

  /** Index of the first row at or after `time`; `length` when there is none. */
  firstSince(time: number): number {
    let low = 0;
    let high = this.filled;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time(middle) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private slot(index: number): number {
    return (this.next - this.filled + index + this.capacity) % this.capacity;
  }
}
