"""Requests that the server hands on to another server: an upstream of Trimtab's own (`trimtab-upstream`).

How long it takes for a reply, and how long that is, is drawn with the workload and stands in the request. So
every configuration meets the same upstream, and the load generator knows the length to check. Both are
log-normal, as service times and sizes of web applications are found to be, with a mean and a spread: the
standard deviation as a multiple of the mean, 0 for all alike. Of either there are as many values as `LEVELS`,
each as likely as any other. In their place there may be values that were measured: `of_sample`.

Where Trimtab's upstreams stand for several of a user's own file, each has times and sizes of its own, and its
share of the requests.
"""

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import AfterValidator, Field
from scipy import special

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.targets.behind import proxied_at
from trimtab_tuner.workloads.file_sets import Floats, Integers, stratified

LEVELS = 32
PAGE = "drawn"
LARGEST_BYTES = 1 << 30
LONGEST_MS = 3_600_000.0
LONGEST_MEAN_MS = 60_000.0

Spread = Annotated[float, Field(ge=0, le=10)]
ServiceTime = Annotated[float, Field(ge=0, le=LONGEST_MEAN_MS)]
Name = Annotated[str, Field(min_length=1, max_length=255)]


def _all_levels(values: tuple[float, ...]) -> tuple[float, ...]:
    if len(values) not in (0, LEVELS):
        raise ValueError(f"expected {LEVELS} values, there are {len(values)}")
    return values


Times = Annotated[tuple[Annotated[float, Field(ge=0, le=LONGEST_MS)], ...], AfterValidator(_all_levels)]
Sizes = Annotated[tuple[Annotated[int, Field(ge=1, le=LARGEST_BYTES)], ...], AfterValidator(_all_levels)]


class Replaced(Frozen):
    """The upstream `name` of a user's own file, in whose place Trimtab's answers.

    `weight` is how many requests go on to it, in proportion to those of the others. It has measured times and
    sizes, or a mean time in place of the workload's; what it has not is as the workload has it.
    """

    name: Name
    weight: Annotated[float, Field(gt=0)] = 1.0
    service_time_ms: ServiceTime | None = None
    times_ms: Times = ()
    sizes_bytes: Sizes = ()


class StandIn(NamedTuple):
    """What takes the place of the upstream `name`: its share of all requests, and the means of its times,
    which are `measured` or said, and of its sizes.
    """

    name: str
    share: float
    time_ms: float
    size_bytes: float
    measured: bool


class Upstream(Frozen):
    """The `[upstream]` table of a definition.

    `concurrency` is how many requests the upstream works on at a time, as an application with that many
    workers does; the others wait there in line. 0: all that come. `times_ms` and `sizes_bytes` are measured
    values in place of means and spreads, all of `LEVELS` or none. With `replaced` there is one for each of
    these upstreams of a user's own file, with `concurrency` of its own.
    """

    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    service_time_ms: ServiceTime = 5.0
    service_time_spread: Spread = 1.0
    size_bytes: Annotated[int, Field(ge=1, le=1 << 26)] = 16_384
    size_spread: Spread = 1.0
    concurrency: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    times_ms: Times = ()
    sizes_bytes: Sizes = ()
    replaced: Annotated[tuple[Replaced, ...], Field(max_length=32)] = ()

    def pages(self) -> list[tuple[str, int]]:
        """Every size with every time of each: what is asked for, and how long the reply is."""
        found = []
        for number, each in enumerate(self._each()):
            sizes = np.clip(np.rint(each.sizes_bytes), 1, LARGEST_BYTES).astype(int).tolist()
            times_us = np.rint(1000 * np.minimum(each.times_ms, LONGEST_MS)).astype(int).tolist()
            path = proxied_at(number) + PAGE
            found += [(f"{path}?size={size}&us={us}", size) for size in sizes for us in times_us]
        return found

    def stand_ins(self) -> list["StandIn"]:
        """Those that stand for one of a user's file: how they answer, on average."""
        drawn = self._each() if self.replaced else []
        total = sum(each.weight for each in drawn)
        return [
            StandIn(
                name=told.name,
                share=self.share * each.weight / total,
                time_ms=float(np.mean(each.times_ms)),
                size_bytes=float(np.mean(each.sizes_bytes)),
                measured=bool(told.times_ms),
            )
            for told, each in zip(self.replaced, drawn, strict=bool(drawn))
        ]

    def draw(self, count: int, streams: tuple[np.random.Generator, np.random.Generator]) -> Integers:
        """Positions in `pages`: the upstream and the size by the first stream, times by the second."""
        sizes, times = (stratified(count, stream) for stream in streams)
        weights = np.array([each.weight for each in self._each()])
        bounds = np.concatenate([[0.0], np.cumsum(weights / weights.sum())[:-1], [1.0]])
        which = np.searchsorted(bounds[1:-1], sizes, side="right")
        within = (sizes - bounds[which]) / (bounds[which + 1] - bounds[which])
        size, time = (np.minimum(each * LEVELS, LEVELS - 1).astype(np.int64) for each in (within, times))
        return (which * LEVELS + size) * LEVELS + time

    def _each(self) -> list["_Drawn"]:
        """Those that stand for one of a user's file, or the one that stands for none."""
        spread = self.service_time_spread
        times = self.times_ms or _levels(self.service_time_ms, spread)
        sizes = self.sizes_bytes or _levels(self.size_bytes, self.size_spread)
        if not self.replaced:
            return [_Drawn(1.0, times, sizes)]
        return [
            _Drawn(
                each.weight,
                each.times_ms
                or (times if each.service_time_ms is None else _levels(each.service_time_ms, spread)),
                each.sizes_bytes or sizes,
            )
            for each in self.replaced
        ]

    def scripts(self) -> dict[str, str]:
        """None: the upstream needs no file."""
        return {}


class _Drawn(NamedTuple):
    """What is drawn for one upstream: `LEVELS` times and sizes, and how often it is asked."""

    weight: float
    times_ms: Sequence[float] | Floats
    sizes_bytes: Sequence[float] | Floats


def of_sample(values: Sequence[float]) -> list[float]:
    """The means of `LEVELS` equally large parts of a sample, ascending; their mean is that of the sample,
    but for the rest of the division. Expects as many values as levels at least.
    """
    return [float(part.mean()) for part in np.array_split(np.sort(np.asarray(values, float)), LEVELS)]


def _levels(mean: float, spread: float) -> Floats:
    """The means of equally likely parts of a log-normal distribution, ascending; their mean is `mean`.

    The part of the mean that lies below a quantile is that of the normal distribution, shifted by sigma.
    """
    sigma = math.sqrt(math.log1p(spread**2))
    if sigma == 0:
        return np.full(LEVELS, mean)
    bounds = special.ndtri(np.linspace(0, 1, LEVELS + 1))
    levels: Floats = mean * LEVELS * np.diff(special.ndtr(bounds - sigma))
    return levels
