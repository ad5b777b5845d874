"""A histogram of service times that adds up over periods and servers.

The classes are fixed, and each is about 10 % wide on a logarithmic scale: histograms of several seconds, or
of several servers, are added class by class, and a percentile of the sum is at most 10 % too high.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Upper ends of the classes: 24 in each power of ten, from 10 microseconds to 1000 seconds. The first class
# holds everything below, a further one everything above.
ENDS_S = 1e-5 * 10 ** (np.arange(8 * 24 + 1) / 24)
CLASSES = len(ENDS_S) + 1
CLASS_WIDTH = 10 ** (1 / 24)
"""The end of a class by its beginning."""
# A time that is the end of a class, but for the rounding of its logarithm, belongs to it.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class ServiceTimes:
    """How many replies took how long; `counts` has a number for each class, in their order."""

    counts: tuple[int, ...] = (0,) * CLASSES

    @property
    def replies(self) -> int:
        """How many there are in all."""
        return sum(self.counts)

    def quantile_s(self, share: float) -> float | None:
        """The time that this share (0 to 1) of the replies does not exceed, in seconds.

        It is the end of a class. None where there is no reply; infinite where it is longer than the classes.
        """
        needed = math.ceil(share * self.replies)
        for end_s, passed in zip((*ENDS_S, math.inf), np.cumsum(self.counts), strict=True):
            if passed >= max(needed, 1):
                return float(end_s)
        return None

    def slower_than(self, limit_s: float) -> int:
        """How many took longer than that, by classes: those in the class of the limit count as within it."""
        return sum(self.counts[_class_of(limit_s) + 1 :])


NO_TIMES = ServiceTimes()


def service_times_of(times_s: NDArray[np.float64]) -> ServiceTimes:
    """The histogram of these times in seconds, one a reply."""
    classes = np.searchsorted(ENDS_S * (1 + _ROUNDING), times_s)
    return ServiceTimes(tuple(np.bincount(classes, minlength=CLASSES).tolist()))


def service_times_within(ends_s: Sequence[float], counts: Sequence[int]) -> ServiceTimes:
    """The histogram that comes nearest to one with fewer classes.

    `counts` are of the classes that end at `ends_s` (ascending), and of a last one without an end. The
    replies of each are spread evenly over the classes here that it covers, on a logarithmic scale.
    """
    spread = [0] * CLASSES
    first = 0
    # Of those without an end nothing is known but that they are longer than the last one.
    lasts = [*(_class_of(end_s) for end_s in ends_s), 0]
    for last, count in zip(lasts, counts, strict=True):
        covered = max(last - first + 1, 1)
        for index in range(covered):
            share = count * (index + 1) // covered - count * index // covered
            spread[min(first + index, CLASSES - 1)] += share
        first = last + 1
    return ServiceTimes(tuple(spread))


def added_up(histograms: Iterable[ServiceTimes]) -> ServiceTimes:
    """Several histograms as one."""
    return ServiceTimes(
        tuple(map(sum, zip(NO_TIMES.counts, *(each.counts for each in histograms), strict=True)))
    )


def _class_of(time_s: float) -> int:
    return int(np.searchsorted(ENDS_S * (1 + _ROUNDING), time_s))
