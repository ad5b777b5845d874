"""Requests that the server hands on to another server: an upstream of Trimtab's own (`trimtab-upstream`).

How long it takes for a reply, and how long that is, is drawn with the workload and stands in the request. So
every configuration meets the same upstream, and the load generator knows the length to check. Both are
log-normal, as service times and sizes of web applications are found to be, with a mean and a spread: the
standard deviation as a multiple of the mean, 0 for all alike. Of either there are as many values as `LEVELS`,
each as likely as any other. In their place there may be values that were measured: `of_sample`.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator
from scipy import special

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.workloads.file_sets import Floats, Integers, stratified

LEVELS = 32
PATH = "/dynamic/drawn"
LARGEST_BYTES = 1 << 30
LONGEST_MS = 3_600_000.0

Spread = Annotated[float, Field(ge=0, le=10)]


class Upstream(Frozen):
    """The `[upstream]` table of a definition.

    `concurrency` is how many requests the upstream works on at a time, as an application with that many
    workers does; the others wait there in line. 0: all that come. `times_ms` and `sizes_bytes` are measured
    values in place of means and spreads, all of `LEVELS` or none. It stands for the upstream `stands_for` of
    a user's own file, if for one.
    """

    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    service_time_ms: Annotated[float, Field(ge=0, le=60_000)] = 5.0
    service_time_spread: Spread = 1.0
    size_bytes: Annotated[int, Field(ge=1, le=1 << 26)] = 16_384
    size_spread: Spread = 1.0
    concurrency: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    times_ms: tuple[Annotated[float, Field(ge=0, le=LONGEST_MS)], ...] = ()
    sizes_bytes: tuple[Annotated[int, Field(ge=1, le=LARGEST_BYTES)], ...] = ()
    stands_for: Annotated[str, Field(max_length=255)] = ""

    @model_validator(mode="after")
    def _all_levels(self) -> Self:
        for name, values in (("times_ms", self.times_ms), ("sizes_bytes", self.sizes_bytes)):
            if len(values) not in (0, LEVELS):
                raise ValueError(f"{name}: expected {LEVELS} values, there are {len(values)}")
        return self

    def pages(self) -> list[tuple[str, int]]:
        """Every size with every time: what is asked for, and how long the reply is."""
        of_sizes = self.sizes_bytes or _levels(self.size_bytes, self.size_spread)
        sizes = np.clip(np.rint(of_sizes), 1, LARGEST_BYTES).astype(int)
        of_times = self.times_ms or _levels(self.service_time_ms, self.service_time_spread)
        times_ms = np.minimum(of_times, LONGEST_MS)
        times_us = np.rint(1000 * times_ms).astype(int).tolist()
        return [(f"{PATH}?size={size}&us={us}", size) for size in sizes.tolist() for us in times_us]

    def draw(self, count: int, streams: tuple[np.random.Generator, np.random.Generator]) -> Integers:
        """Positions in `pages`: sizes by the first stream, times by the second."""
        size, time = ((stratified(count, stream) * LEVELS).astype(np.int64) for stream in streams)
        return size * LEVELS + time

    def scripts(self) -> dict[str, str]:
        """None: the upstream needs no file."""
        return {}


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
