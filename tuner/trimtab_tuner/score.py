"""Objectives: what makes one number of a trial's measurements.

All are in Mbps of goodput (requests completed in time) and higher is better:

`condensed-area`
    The area under the curve of goodput over offered rate, by trapezoids, divided by the span of the ladder:
    the mean goodput over the ladder. The seeds' thesis (section 3.4) divides the same area by the constant
    13,000,000 instead, which suits only its own ladder: its figure = ours x span / 13,000,000. Within one
    ladder both order the trials alike, and areas of different ladders never compare.
`peak`
    The highest goodput at any rate.
`sustained`
    The goodput at the highest rate: what is left under the heaviest overload.
"""

import itertools
from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from trimtab_tuner.records import Measurement


class Objective(StrEnum):
    """The objectives a run can be given."""

    CONDENSED_AREA = "condensed-area"
    PEAK = "peak"
    SUSTAINED = "sustained"


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


_FUNCTIONS = {
    Objective.CONDENSED_AREA: condensed_area,
    Objective.PEAK: peak,
    Objective.SUSTAINED: sustained,
}


def score(objective: Objective | str, measurements: Sequence[Measurement]) -> float:
    """The trial's score in Mbps; ValueError for an unknown objective or without measurements."""
    return _FUNCTIONS[Objective(objective)](measurements)


def _ascending(measurements: Sequence[Measurement]) -> list[Measurement]:
    if not measurements:
        raise ValueError("a score needs at least one measurement")
    ordered = sorted(measurements, key=lambda m: m.rate_rps)
    if any(a.rate_rps == b.rate_rps for a, b in itertools.pairwise(ordered)):
        raise ValueError("a ladder has each rate once")
    return ordered
