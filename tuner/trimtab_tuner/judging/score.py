"""Objectives: what makes one number of a trial's measurements.

All are in Mbps of goodput (requests completed in time) and higher is better. They are taken on the run's
ladder, of which a trial need not have been driven at every rung (`on_ladder`):

`condensed-area`
    The area under the curve of goodput over offered rate, by trapezoids, divided by the span of the ladder:
    the mean goodput over the ladder. The seeds' thesis (section 3.4) divides the same area by the constant
    13,000,000 instead, which suits only its own ladder: its figure = ours x span / 13,000,000. Within one
    ladder both order the trials alike, and areas of different ladders never compare.
`peak`
    The highest goodput at any rate.
`sustained`
    The goodput at the highest rate: what is left under the heaviest overload.
`mat`
    The maximum achievable throughput under a latency limit (Hashemian 2013, section 3.3): the highest goodput
    of the rates from the lowest up to the first that breaks the limit. The limit follows a colon, as in
    `mat: p999 <= 4ms` (`limits.py`). Without one it is 4.5 times the mean latency at low load, which the
    calibration has measured: that study's limits were 4 to 5 times it. Latency tails beyond the limit do not
    count, and a trial that breaks it at once scores 0.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np
from trimtab_trials.measurement import Measurement

from trimtab_tuner.judging.limits import Limit, parse_limit


class Objective(StrEnum):
    """The objectives a run can be given."""

    CONDENSED_AREA = "condensed-area"
    PEAK = "peak"
    SUSTAINED = "sustained"
    MAT = "mat"


def condensed_area(measurements: Sequence[Measurement]) -> float:
    """Mean goodput over the ladder in Mbps; of a single rate, its goodput."""
    ordered = _ascending(measurements)
    rates = [m.rate_rps for m in ordered]
    goodputs = [m.goodput_mbps for m in ordered]
    span = rates[-1] - rates[0]
    return float(np.trapezoid(goodputs, rates)) / span if span > 0 else goodputs[0]


def peak(measurements: Sequence[Measurement]) -> float:
    """Highest goodput of any rate, in Mbps."""
    return max(m.goodput_mbps for m in _ascending(measurements))


def sustained(measurements: Sequence[Measurement]) -> float:
    """Goodput at the highest rate, in Mbps."""
    return _ascending(measurements)[-1].goodput_mbps


def achievable(measurements: Sequence[Measurement], limit: Limit) -> float:
    """Highest goodput, in Mbps, before the limit is first broken; 0 if it never holds."""
    within = itertools.takewhile(limit.holds, _ascending(measurements))
    return max((m.goodput_mbps for m in within), default=0.0)


LOW_LOAD_FACTOR = 4.5

_FUNCTIONS = {
    Objective.CONDENSED_AREA: condensed_area,
    Objective.PEAK: peak,
    Objective.SUSTAINED: sustained,
}


def parse_objective(text: str) -> tuple[Objective, Limit | None]:
    """An objective and the limit behind its colon; ValueError says what was expected."""
    name, colon, limit = text.partition(":")
    names = ", ".join(objective.value for objective in Objective)
    if name.strip() not in [objective.value for objective in Objective]:
        raise ValueError(f"{text!r}: expected one of {names}")
    objective = Objective(name.strip())
    if colon and objective is not Objective.MAT:
        raise ValueError(f"{text!r}: only {Objective.MAT.value} takes a limit")
    if not colon:
        return objective, None
    try:
        parsed = parse_limit(limit.strip())
    except ValueError as error:
        raise ValueError(f"{text!r}: the limit {error}") from error
    if parsed.statistic == "rss":
        raise ValueError(f"{text!r}: {Objective.MAT.value} takes a limit on latency, such as p999 <= 4ms")
    return objective, parsed


def derived_limit(low_load_mean_us: float) -> Limit:
    """The limit of `mat` where none is given, from the mean latency at low load."""
    return parse_limit(f"mean <= {LOW_LOAD_FACTOR * low_load_mean_us:.1f}us")


def score(
    objective: Objective | str,
    measurements: Sequence[Measurement],
    limit: Limit | None = None,
    ladder: Sequence[float] = (),
) -> float:
    """The trial's score in Mbps; `limit` is that of `mat` where the text of the objective has none.

    With a `ladder` the score is that on it; what was measured beside its rungs does not count. Without one
    the rates that were measured are the ladder.

    ValueError for an unknown objective, without measurements, or for `mat` without a limit.
    """
    kind, own_limit = parse_objective(objective)
    if ladder:
        measurements = [m for m in measurements if m.rate_rps in set(ladder)]
    if kind is not Objective.MAT:
        return _FUNCTIONS[kind](list(on_ladder(measurements, ladder).values()) if ladder else measurements)
    limit = own_limit or limit
    if limit is None:
        raise ValueError("mat needs a limit: given as in 'mat: p999 <= 4ms', or derived from a calibration")
    return achievable(measurements, limit)


def on_ladder(measurements: Sequence[Measurement], ladder: Sequence[float]) -> dict[float, Measurement]:
    """A trial at every rung of the ladder: as measured, or as what was measured elsewhere lets one expect.

    Below a measured rung the server answers what is offered, as far as it did there: it is only less load.
    Above the highest it keeps the goodput that it had there, which is the most where it did not follow any
    more, and the least where it did.
    """
    measured = {m.rate_rps: m for m in _ascending(measurements)}
    rates = list(measured)
    at_rungs: dict[float, Measurement] = {}
    for rung in ladder:
        nearest = measured[next((rate for rate in rates if rate >= rung), rates[-1])]
        share = min(1.0, rung / max(nearest.reply_rate_rps, 1e-9))
        at_rungs[rung] = replace(
            nearest,
            rate_rps=rung,
            goodput_mbps=nearest.goodput_mbps * (1.0 if rung in measured else share),
        )
    return at_rungs


def goodput_by_rung(measurements: Sequence[Measurement], ladder: Sequence[float]) -> Mapping[float, float]:
    """Goodput in Mbps of a trial at every rung of the ladder; nothing where nothing was measured."""
    if not measurements:
        return {}
    return {rung: m.goodput_mbps for rung, m in on_ladder(measurements, ladder).items()}


def _ascending(measurements: Sequence[Measurement]) -> list[Measurement]:
    if not measurements:
        raise ValueError("a score needs at least one measurement")
    ordered = sorted(measurements, key=lambda m: m.rate_rps)
    if any(a.rate_rps == b.rate_rps for a, b in itertools.pairwise(ordered)):
        raise ValueError("a ladder has each rate once")
    return ordered
