"""What a source of counters is, and how two readings of all sources become values.

A source is read (cheap: one or two files of /proc), and only the difference of two readings becomes
rates and percentages.  So the same code serves the once-a-second sampler and the exact average over
one rate of a trial: both are `between(earlier, later)`.

A source that cannot be read is listed under `missing` with the reason; it never shows up as zeros.  A source
that has nothing to read at present (no server is running) is left out.  One with an error that nobody has
foreseen (a kernel that writes a file differently) is not read again and stays missing; the others go on.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

log = logging.getLogger(__name__)

Reading = Any
Values = dict[str, Any]


class Source(Protocol):
    """One source of counters; `name` is its key in a sample."""

    name: str

    def read(self) -> Reading | None:
        """Reads the raw counters; None when there is nothing to read; raises OSError when it cannot."""

    def values(self, earlier: Reading, later: Reading, interval_s: float) -> Values:
        """Turns two readings, `interval_s` apart, into rates (per second), percentages and gauges."""


@dataclass(frozen=True)
class Snapshot:
    """One reading of every source: `time` in seconds since the epoch, `monotonic_s` for intervals.

    `read_s` is when each source was read, on the same clock: one that had to be waited for, such as the
    status page of a busy server, spoils nobody else's rates.
    """

    time: float
    monotonic_s: float
    readings: dict[str, Reading]
    read_s: dict[str, float]
    missing: dict[str, str]


class CounterSet:
    """All sources together. For any thread."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = tuple(sources)
        self._ended: dict[str, str] = {}

    def take(self) -> Snapshot:
        """Reads every source once."""
        readings: dict[str, Reading] = {}
        read_s: dict[str, float] = {}
        missing = dict(self._ended)
        for source in self._sources:
            if source.name in missing:
                continue
            try:
                reading = source.read()
            except OSError as error:
                missing[source.name] = f"{error.filename or source.name}: {error.strerror or error}"
                continue
            except Exception as error:
                missing[source.name] = self._end(source, error)
                continue
            if reading is not None:
                readings[source.name] = reading
                read_s[source.name] = time.monotonic()
        return Snapshot(time.time(), time.monotonic(), readings, read_s, missing)

    def between(self, earlier: Snapshot, later: Snapshot) -> Values:
        """What happened meanwhile: `time`, `interval_s`, `missing`, and a key for each source."""
        interval_s = _passed_s(earlier.monotonic_s, later.monotonic_s)
        missing = dict(later.missing)
        sample: Values = {"time": later.time, "interval_s": round(interval_s, 4), "missing": missing}
        for source in self._sources:
            name = source.name
            before, after = earlier.readings.get(name), later.readings.get(name)
            if before is None or after is None:
                continue
            try:
                sample[name] = source.values(
                    before, after, _passed_s(earlier.read_s[name], later.read_s[name])
                )
            except Exception as error:
                missing[name] = self._end(source, error)
        return sample

    def _end(self, source: Source, error: Exception) -> str:
        """Reads the source no more; the reason, which goes to the log with where it happened."""
        reason = f"ended by an unforeseen error: {type(error).__name__}: {error}"
        if source.name not in self._ended:
            self._ended[source.name] = reason
            log.error("the counters of %s have %s", source.name, reason, exc_info=error)
        return reason


def _passed_s(earlier_s: float, later_s: float) -> float:
    """The time between two moments, never nothing: it is divided by."""
    return max(later_s - earlier_s, 1e-6)


def per_second(
    earlier: Mapping[str, float],
    later: Mapping[str, float],
    interval_s: float,
    names: Mapping[str, str],
) -> Values:
    """Rates of the counters `names` (kernel name → ours); those the kernel does not have are left out."""
    return {
        ours: round((later[kernel] - earlier[kernel]) / interval_s, 2)
        for kernel, ours in names.items()
        if kernel in earlier and kernel in later
    }
