"""Contexts: kinds of traffic, each with a configuration of its own that is best, and the change from one to
another.

A context is what the traffic is like: its rate, the size of its replies, how many requests come on a
connection, and which share of them is dynamic. A change is found by Page's cumulative sum (E. S. Page,
"Continuous inspection schemes", 1954) over each of these: deviations from what was usual add up, less an
allowance, and the sum of noise stays small.
"""

import math
from collections.abc import Iterable

from trimtab_tuner.frozen import Frozen

# In standard deviations of a period: deviations up to the allowance are not looked for, twice the allowance
# is found soonest, and the sum that is a change comes by chance once in some hundred thousand periods.
ALLOWANCE = 1.0
CHANGE = 12.0
# Periods from which the usual traffic and its noise are learnt.
LEARNING = 120
# Two contexts are the same kind when nothing about them differs by more than this factor.
NEAR = math.log(1.5)


class Context(Frozen):
    """What the traffic is like."""

    rate_rps: float
    reply_bytes: float
    requests_per_connection: float
    dynamic_share: float = 0.0

    @property
    def features(self) -> tuple[float, ...]:
        """On scales on which equal steps mean equally much: logarithms, and the share as three of them."""
        return (
            math.log(max(self.rate_rps, 1.0)),
            math.log(max(self.reply_bytes, 1.0)),
            math.log(max(self.requests_per_connection, 1.0)),
            3 * self.dynamic_share,
        )

    def distance(self, other: "Context") -> float:
        """How far another context is away, by what differs most; below NEAR they are the same kind."""
        return max(abs(a - b) for a, b in zip(self.features, other.features, strict=True))


def nearest(context: Context, known: Iterable[Context]) -> Context | None:
    """The known context of the same kind that is nearest; None if there is none."""
    near = [(context.distance(other), index, other) for index, other in enumerate(known)]
    best = min(near, default=None)
    return best[2] if best and best[0] <= NEAR else None


class ChangeWatch:
    """Says when the traffic is no longer what it was; then begins to learn anew."""

    def __init__(self) -> None:
        self._learnt: list[tuple[float, ...]] = []
        self._usual: list[tuple[float, float]] = []
        self._sums: list[list[float]] = []

    def tell(self, context: Context) -> bool:
        """Takes in the context of one period; True when a change has been found with it."""
        features = context.features
        if len(self._learnt) < LEARNING:
            self._learnt.append(features)
            if len(self._learnt) == LEARNING:
                self._usual = [_mean_and_deviation(values) for values in zip(*self._learnt, strict=True)]
                self._sums = [[0.0, 0.0] for _ in self._usual]
            return False
        changed = False
        for value, (mean, deviation), sums in zip(features, self._usual, self._sums, strict=True):
            away = (value - mean) / deviation
            for side, sign in enumerate((1, -1)):
                sums[side] = max(0.0, sums[side] + sign * away - ALLOWANCE)
                changed = changed or sums[side] > CHANGE
        if changed:
            self._learnt = []
        return changed


def _mean_and_deviation(values: tuple[float, ...]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    # What hardly varies while it is learnt may vary a little later: 1 % is no change of the traffic.
    return mean, max(math.sqrt(variance), 0.01)
