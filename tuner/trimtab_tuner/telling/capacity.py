"""How much load a server takes, by what was measured of it at the rates of one trial.

A climb ends with two rates next to each other, of which the server followed one and not the other. Where it
begins to fall behind lies between them, and what it answered says where. Of a server that answers just as
much under overload, what it answered at the rate that it did not follow is the limit itself; most lose
something, so it is a lower bound (`low_rps`). One that loses three replies for each request too many has its
limit three quarters of the way from there to that rate (`high_rps`). In between lies what is likely: there
the straight line between the shares that were answered at both rates falls through `FOLLOWS` (`likely_rps`).

Of a server that answered less than at the rate that it followed, and where a rule broke, only the two rates
are known.
"""

import math
from collections.abc import Iterable

from trimtab_trials.measurement import FOLLOWS, Measurement

from trimtab_tuner.frozen import Frozen

MOST_LOST = 3.0  # replies for each request too many: a server that loses more is told by its two rates


class Capacity(Frozen):
    """The highest rate that was followed while all rules held, and the replies' goodput there.

    `lost_rps` is the lowest rate above it that was not followed, None where there is none: the server may
    follow more. The capacity itself lies between the two, most likely at `likely_rps`, and by what was
    answered from `low_rps` to `high_rps`, which is None where `lost_rps` is.
    """

    rate_rps: float
    goodput_mbps: float
    lost_rps: float | None = None
    likely_rps: float
    low_rps: float
    high_rps: float | None = None


def capacity_of(measurements: Iterable[Measurement]) -> Capacity | None:
    """The capacity that the rates of one trial show; None if it followed none of them.

    A rate at which the generator gave out says nothing of the server.
    """
    told = [m for m in measurements if not m.generator_limited]
    good = [m for m in told if m.followed and m.held]
    if not good:
        return None
    best = max(good, key=lambda m: m.rate_rps)
    above = [m for m in told if m.rate_rps > best.rate_rps]
    if not above:
        return Capacity(
            rate_rps=best.rate_rps,
            goodput_mbps=best.goodput_mbps,
            likely_rps=best.rate_rps,
            low_rps=best.rate_rps,
        )
    lost = min(reversed(above), key=lambda m: m.rate_rps)  # of a rate that was doubted the second counts
    low_rps, likely_rps, high_rps = _between(best, lost)
    return Capacity(
        rate_rps=best.rate_rps,
        goodput_mbps=best.goodput_mbps,
        lost_rps=lost.rate_rps,
        likely_rps=likely_rps,
        low_rps=low_rps,
        high_rps=high_rps,
    )


def _between(best: Measurement, lost: Measurement) -> tuple[float, float, float]:
    """Where the capacity lies between these two rates: at least, most likely, at most."""
    if lost.followed:  # a rule broke there, and nothing says where it began to
        return best.rate_rps, math.sqrt(best.rate_rps * lost.rate_rps), lost.rate_rps
    share, share_lost = max(_answered(best), FOLLOWS), _answered(lost)
    width = math.log(lost.rate_rps / best.rate_rps)
    line_rps = best.rate_rps * math.exp(width * (share - FOLLOWS) / (share - share_lost))
    low_rps = lost.rate_rps * share_lost / FOLLOWS
    if low_rps <= best.rate_rps:
        return best.rate_rps, line_rps, lost.rate_rps
    high_rps = lost.rate_rps * (share_lost + MOST_LOST) / (FOLLOWS + MOST_LOST)
    return low_rps, min(max(line_rps, low_rps), high_rps), high_rps


def _answered(measurement: Measurement) -> float:
    """The share of what was due that was answered; replies that had waited from before make no more of it."""
    return min(1.0, measurement.reply_rate_rps / (measurement.due_rate_rps or measurement.rate_rps))


def likely_capacity(measurements: Iterable[Measurement]) -> float | None:
    """Where the capacity of one trial most likely lies, in requests per second; None if it followed no rate.

    So a short climb tells two configurations apart that its rates do not.
    """
    capacity = capacity_of(measurements)
    return None if capacity is None else capacity.likely_rps
