// The samples a tab remembers: a fixed number of rows, the oldest overwritten, nothing allocated per sample.

/** Rows of `columns` numbers each, with a time in seconds; a missing value is NaN. */
export class RingBuffer {
  private readonly times: Float64Array;
  private readonly values: Float64Array;
  private next = 0;
  private filled = 0;

  constructor(
    readonly capacity: number,
    readonly columns: number,
  ) {
    if (!(capacity >= 1) || !(columns >= 1)) throw new RangeError('a ring buffer has rows and columns');
    this.times = new Float64Array(capacity);
    this.values = new Float64Array(capacity * columns);
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
      this.values[this.next * this.columns + column] = row[column] ?? Number.NaN;
    }
    this.next = (this.next + 1) % this.capacity;
    this.filled = Math.min(this.filled + 1, this.capacity);
    return true;
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
