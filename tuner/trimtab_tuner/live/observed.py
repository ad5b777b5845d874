"""What is observed of the arms of an experiment on live traffic, and how two of them differ in a period.

An arm is a server process that takes a share of the connections: production as it is, the baseline (a fresh
copy of production) and the canary (the candidate). Only baseline and canary are compared for a gain: both are
young, and have the same share, so that what differs otherwise differs by chance.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

# Replies are compared with replies of about their size: each class is eight times as large as the one before.
SIZE_CLASS_FACTOR = 8
SMALLEST_CLASS_BYTES = 1024
SIZE_CLASSES = 6
# So many requests make a difference of one period worth telling.
LEAST_REQUESTS = 10


def size_class(reply_bytes: int) -> int:
    """The class of a reply by its size: 0 up to 1 KiB, 1 up to 8 KiB, and so on; the last has no end."""
    if reply_bytes <= SMALLEST_CLASS_BYTES:
        return 0
    above = math.ceil(math.log(reply_bytes / SMALLEST_CLASS_BYTES, SIZE_CLASS_FACTOR))
    return min(above, SIZE_CLASSES - 1)


@dataclass(frozen=True, slots=True)
class Served:
    """Replies of one size class in one period: how many, and the time that serving them took in all."""

    requests: int = 0
    service_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ArmPeriod:
    """One arm in one period.

    `served`: by size class. `errors`: replies 5xx and those that were aborted. `slow`: replies that took
    longer than the agreed limit. `cpu_s`: CPU time of all its processes. `waiting`: connections in its accept
    queue at the end of the period.
    """

    served: tuple[Served, ...]
    errors: int = 0
    slow: int = 0
    cpu_s: float = 0.0
    waiting: int = 0

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
    )


def cost_difference(baseline: ArmPeriod, canary: ArmPeriod) -> float | None:
    """How much more CPU time a request costs in the canary, as the logarithm of the ratio.

    None where either arm had too few requests, or no CPU time that the clock could tell.
    """
    if min(baseline.requests, canary.requests) < LEAST_REQUESTS or not (baseline.cpu_s and canary.cpu_s):
        return None
    return math.log((canary.cpu_s / canary.requests) / (baseline.cpu_s / baseline.requests))


def time_difference(baseline: ArmPeriod, canary: ArmPeriod) -> float | None:
    """How much longer a reply takes in the canary, as the logarithm of the ratio.

    It is the mean over the size classes, each weighted by its requests: an arm that happened to get the large
    files is not slower for that. None where no class has enough requests in both arms.
    """
    total, weights = 0.0, 0.0
    for before, after in zip(baseline.served, canary.served, strict=True):
        if min(before.requests, after.requests) < LEAST_REQUESTS or not (
            before.service_s and after.service_s
        ):
            continue
        weight = 1 / (1 / before.requests + 1 / after.requests)
        ratio = (after.service_s / after.requests) / (before.service_s / before.requests)
        total += weight * math.log(ratio)
        weights += weight
    return total / weights if weights else None
