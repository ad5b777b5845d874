"""Limits in text, for constraints and for the objective `mat`: `p999 <= 20ms`, `rss <= 500MB`.

On the left stands what is measured at every rate: the reply latency (`mean`, `p50`, `p90`, `p99`, `p999`) or
`rss`, the memory of all server processes together at its peak, shared pages counted once. On the right a
number with its unit: `us`, `ms` or `s`; `kB`, `MB`, `GB` (powers of ten) or `KiB`, `MiB`, `GiB`.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from trimtab_trials.measurement import Measurement

from trimtab_tuner.frozen import Frozen

LATENCIES = ("mean", "p50", "p90", "p99", "p999")
TIMES_US = {"us": 1.0, "ms": 1e3, "s": 1e6}
SIZES_BYTES = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
_BOUND = re.compile(r"\s*(\w+)\s*<=\s*([0-9.]+)\s*([A-Za-z%]*)\s*")


class Limit(Frozen):
    """An upper bound on one statistic, in microseconds or bytes; `text` is how it was written."""

    statistic: str
    bound: float
    text: str

    def measured(self, measurement: Measurement) -> float | None:
        """The statistic at one rate; None if it was not measured, or nothing was replied."""
        if self.statistic == "rss":
            return memory_bytes(measurement)
        latency_us: float | None = getattr(measurement.reply_latency, f"{self.statistic}_us")
        return latency_us

    def holds(self, measurement: Measurement) -> bool:
        """Whether it was measured and is within the bound."""
        value = self.measured(measurement)
        return value is not None and value <= self.bound

    def broken_sentence(self, measurement: Measurement, level: str) -> str:
        """How it does not hold at a rung of the ladder, which is in words."""
        value = self.measured(measurement)
        if value is None:
            return f"{self.text}: {self.statistic} was not measured at {level}."
        return f"{self.statistic} = {_in_words(self.statistic, value)} at {level}: expected {self.text}."


def memory_bytes(measurement: Measurement) -> float | None:
    """What `rss` stands for; in runs recorded before that was counted, the resident memory that was."""
    counted = measurement.memory_bytes
    return measurement.resident_bytes if counted is None else counted


def parse_bound(text: str, units: Mapping[str, Mapping[str, float]], example: str) -> tuple[str, float, str]:
    """The statistic and its upper bound, as a person writes them: `p99 <= 50 ms`.

    `units` says for each statistic which units it is given in, and what one of them is worth in the unit that
    the bound is counted in. Returns statistic, bound and the text in its usual form; ValueError says what is
    wrong, with the example.
    """
    matched = _BOUND.fullmatch(text)
    if matched is None:
        raise ValueError(f"{text!r}: expected STATISTIC <= NUMBER UNIT, {example}")
    statistic, number, unit = matched.groups()
    if statistic not in units:
        raise ValueError(f"{text!r}: no such statistic; expected one of {', '.join(units)}, {example}")
    if unit not in units[statistic]:
        named = ", ".join(each or "no unit" for each in units[statistic])
        raise ValueError(f"{text!r}: {statistic} is given in {named}, {example}")
    try:
        bound = float(number) * units[statistic][unit]
    except ValueError:
        raise ValueError(f"{text!r}: {number} is no number, {example}") from None
    if not bound < math.inf:
        raise ValueError(f"{text!r}: expected a bound that is not endless, {example}")
    return statistic, bound, f"{statistic} <= {number}{unit}"


def parse_limit(text: str) -> Limit:
    """The limit that a text states; ValueError says what is wrong with it."""
    example = "for instance p999 <= 20ms or rss <= 500MB"
    units = {**dict.fromkeys(LATENCIES, TIMES_US), "rss": SIZES_BYTES}
    statistic, bound, usual = parse_bound(text, units, example)
    if not bound:
        raise ValueError(f"{text!r}: expected a bound above 0, {example}")
    return Limit(statistic=statistic, bound=bound, text=usual)


def broken_limit(
    limits: Sequence[Limit], measurements: Sequence[Measurement]
) -> tuple[Limit, Measurement] | None:
    """The first limit that does not hold at some rate, and what was measured there; None if all hold."""
    for limit in limits:
        for measurement in measurements:
            if not limit.holds(measurement):
                return limit, measurement
    return None


def nearest_miss(limit: Limit, trials: Iterable[Sequence[Measurement]]) -> str:
    """What the trial that came nearest to holding it had at its worst rate; empty if none measured it."""
    worst = [
        max(values)
        for measurements in trials
        if (values := [v for m in measurements if (v := limit.measured(m)) is not None])
    ]
    return f"{limit.statistic} = {_in_words(limit.statistic, min(worst))}" if worst else ""


def _in_words(statistic: str, value: float) -> str:
    return f"{value / 1e6:.1f} MB" if statistic == "rss" else f"{value / 1e3:.2f} ms"
