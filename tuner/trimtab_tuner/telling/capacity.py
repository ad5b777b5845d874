"""How much load a server takes, by what was measured of it at the rates of one trial."""

from collections.abc import Iterable

from trimtab_trials.measurement import Measurement

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
