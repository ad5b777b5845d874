"""How much load a server takes, by what was measured of it at the rates of one trial."""

import math
from collections.abc import Iterable, Sequence

from trimtab_trials.measurement import FOLLOWS, Measurement

from trimtab_tuner.frozen import Frozen


class Capacity(Frozen):
    """The highest rate that was followed while all rules held, and the replies' goodput there.

    `lost_rps` is the lowest rate above it that was not followed, None where there is none: the server may
    follow more.
    """

    rate_rps: float
    goodput_mbps: float
    lost_rps: float | None = None


def capacity_of(measurements: Iterable[Measurement]) -> Capacity | None:
    """The capacity that the rates of one trial show; None if it followed none of them.

    A rate at which the generator gave out says nothing of the server.
    """
    told = [m for m in measurements if not m.generator_limited]
    good = [m for m in told if m.followed and m.held]
    if not good:
        return None
    best = max(good, key=lambda m: m.rate_rps)
    return Capacity(
        rate_rps=best.rate_rps,
        goodput_mbps=best.goodput_mbps,
        lost_rps=min((m.rate_rps for m in told if m.rate_rps > best.rate_rps), default=None),
    )


def likely_capacity(measurements: Sequence[Measurement]) -> float | None:
    """Where the capacity lies between the last rate that was followed and the first that was not, in requests
    per second; None if none was followed.

    A server that falls behind shows at that first rate how much it answers. So a short climb tells two
    configurations apart that its rates do not; what it tells of one of them stays between the two rates.
    """
    capacity = capacity_of(measurements)
    if capacity is None or capacity.lost_rps is None:
        return None if capacity is None else capacity.rate_rps
    lost = next(m for m in reversed(measurements) if m.rate_rps == capacity.lost_rps)
    if lost.followed:  # a rule broke there, and nothing says where it began to
        return math.sqrt(capacity.rate_rps * capacity.lost_rps)
    answered = lost.reply_rate_rps / (lost.due_rate_rps or lost.rate_rps)
    return min(max(lost.rate_rps * answered / FOLLOWS, capacity.rate_rps), lost.rate_rps)
