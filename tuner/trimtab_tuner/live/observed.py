"""What is observed of the arms of an experiment on live traffic, and how two of them differ in a period.

An arm is a server process that takes a share of the connections: production as it is, the baseline (a fresh
copy of production) and the canary (the candidate). Only baseline and canary are compared for a gain: both are
young, and have the same share, so that what differs otherwise differs by chance.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trimtab_tuner.live.service_times import NO_TIMES, ServiceTimes, added_up

# Replies are compared with replies of about their size: each class is eight times as large as the one before.
SIZE_CLASS_FACTOR = 8
SMALLEST_CLASS_BYTES = 1024
SIZE_CLASSES = 6
# The first request on a connection is of another class than later ones of its size: it meets a connection
# that begins slowly, and an arm that has just begun has many of them.
CLASSES = 2 * SIZE_CLASSES
_CLASS_ENDS_BYTES = SMALLEST_CLASS_BYTES * SIZE_CLASS_FACTOR ** np.arange(SIZE_CLASSES - 1)
# So many requests make a difference of one period worth telling, and so many of a class one within it.
LEAST_REQUESTS = 10
LEAST_OF_CLASS = 3


def size_classes(reply_bytes: NDArray[np.int64]) -> NDArray[np.intp]:
    """The class of each reply by its size: 0 up to 1 KiB, 1 up to 8 KiB, and so on; the last has no end."""
    return np.searchsorted(_CLASS_ENDS_BYTES, reply_bytes)


@dataclass(frozen=True, slots=True)
class Served:
    """Replies of one class in one period: how many, and the time that serving them took in all."""

    requests: int = 0
    service_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ArmPeriod:
    """One arm in one period.

    `served`: by class, those of first requests on a connection before those of later ones. `errors`: replies
    5xx and those that were aborted. `slow`: replies that took longer than the agreed limit. `cpu_s`: CPU time
    of all its processes. `waiting`: connections in its accept queue at the end of the period. `connections`:
    new ones of the period that it has taken; None where that is not told. `closed`: connections that it has
    closed itself, as far as it tells them. `bytes_sent`: of bodies.
    """

    served: tuple[Served, ...]
    errors: int = 0
    slow: int = 0
    cpu_s: float = 0.0
    waiting: int = 0
    connections: int | None = None
    closed: int = 0
    bytes_sent: int = 0

    @property
    def requests(self) -> int:
        """How many requests were answered."""
        return sum(served.requests for served in self.served)


def together(arms: Iterable[ArmPeriod]) -> ArmPeriod:
    """Several arms, or several periods of one, as one."""
    arms = list(arms)
    return ArmPeriod(
        served=tuple(
            Served(sum(part.requests for part in parts), sum(part.service_s for part in parts))
            for parts in zip(*(arm.served for arm in arms), strict=True)
        ),
        errors=sum(arm.errors for arm in arms),
        slow=sum(arm.slow for arm in arms),
        cpu_s=sum(arm.cpu_s for arm in arms),
        waiting=sum(arm.waiting for arm in arms),
        connections=_sum_of_known(arm.connections for arm in arms),
        closed=sum(arm.closed for arm in arms),
        bytes_sent=sum(arm.bytes_sent for arm in arms),
    )


@dataclass(frozen=True, slots=True)
class Statuses:
    """Replies by the class of their status; those that were aborted are not among them."""

    success: int = 0
    redirection: int = 0
    client_error: int = 0
    server_error: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    """What a server answered in one period, as far as it says so.

    `served`: by class, without `aborted` ones, which their client did not wait for. A server that does
    not tell its service times has none in `served`, and an empty histogram. `connections_accepted` (in the
    period), `connections_open` (at its end), and `dynamic` (requests that a program answered) are None where
    they are not known. `connections_closed`: by the server, as far as it tells them.
    """

    served: tuple[Served, ...] = (Served(),) * CLASSES
    aborted: int = 0
    bytes_sent: int = 0
    statuses: Statuses = Statuses()
    service_times: ServiceTimes = NO_TIMES
    connections_accepted: int | None = None
    connections_open: int | None = None
    connections_closed: int = 0
    dynamic: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One server in one period of so many `seconds`, or in several that were added up."""

    seconds: float
    arm: ArmPeriod
    replies: Replies


def observed_together(periods: Iterable[Observed]) -> Observed:
    """Several periods of one server as one; raises ValueError where there is none.

    What is a state (connections open, connections that wait) is that of the last period.
    """
    periods = list(periods)
    if not periods:
        raise ValueError("expected a period at least")
    parts = [period.replies for period in periods]
    arm = together(period.arm for period in periods)
    return Observed(
        seconds=sum(period.seconds for period in periods),
        arm=replace(arm, waiting=periods[-1].arm.waiting),
        replies=Replies(
            served=arm.served,
            aborted=sum(part.aborted for part in parts),
            bytes_sent=sum(part.bytes_sent for part in parts),
            statuses=Statuses(*map(sum, zip(*(astuple(part.statuses) for part in parts), strict=True))),
            service_times=added_up(part.service_times for part in parts),
            connections_accepted=_sum_of_known(part.connections_accepted for part in parts),
            connections_open=parts[-1].connections_open,
            connections_closed=sum(part.connections_closed for part in parts),
            dynamic=_sum_of_known(part.dynamic for part in parts),
        ),
    )


def _sum_of_known(counts: Iterable[int | None]) -> int | None:
    """None where one of them is not known."""
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)


def cost_difference(
    baseline: ArmPeriod,
    canary: ArmPeriod,
    expected_s: Callable[[ArmPeriod], float] = lambda arm: arm.requests,
) -> float | None:
    """How much more CPU time a request costs in the canary, as the logarithm of the ratio.

    Each one's is compared with what is expected of its requests (`expected_s`, up to a common factor). None
    where either arm had too few of them, or no CPU time that the clock could tell.
    """
    if min(baseline.requests, canary.requests) < LEAST_REQUESTS or not (baseline.cpu_s and canary.cpu_s):
        return None
    return math.log((canary.cpu_s / expected_s(canary)) / (baseline.cpu_s / expected_s(baseline)))


def time_difference(baseline: ArmPeriod, canary: ArmPeriod) -> float | None:
    """How much longer a reply takes in the canary, as the logarithm of the ratio.

    It is the mean over the classes, each weighted by its requests: an arm that happened to get the large
    files, or the new connections, is not slower for that. None where too few requests can be compared.
    """
    total, weights, compared = 0.0, 0.0, 0
    for before, after in zip(baseline.served, canary.served, strict=True):
        if min(before.requests, after.requests) < LEAST_OF_CLASS or not (
            before.service_s and after.service_s
        ):
            continue
        compared += min(before.requests, after.requests)
        weight = 1 / (1 / before.requests + 1 / after.requests)
        ratio = (after.service_s / after.requests) / (before.service_s / before.requests)
        total += weight * math.log(ratio)
        weights += weight
    return total / weights if compared >= LEAST_REQUESTS else None
