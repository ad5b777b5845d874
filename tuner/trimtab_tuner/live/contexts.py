"""Contexts: kinds of traffic, each with a configuration of its own that is best, and the change from one to
another.

A context is what the traffic is like: its rate, the size of its replies, how many requests come on a
connection, and which share of them is dynamic. A change is found by Page's cumulative sum (E. S. Page,
"Continuous inspection schemes", 1954) over each of these: deviations from what was usual add up, less an
allowance, and the sum of noise stays small.
"""

import math
from collections.abc import Iterable, Sequence

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.live.observed import Observed, observed_together

# In standard deviations of a period: deviations up to the allowance are not looked for, and one period adds
# two to the sum at most, so that a moment without requests is no change. A rate that doubles is one after six
# seconds.
ALLOWANCE = 1.0
MOST_OF_A_PERIOD = 3.0
CHANGE = 24.0
# What varies by less than a fifth is the same kind of traffic, however steady it was while it was learnt.
LEAST_DEVIATION = math.log(1.2)
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

    def is_served_alike(self, other: "Context") -> bool:
        """Whether what is asked for is of the same kind, at whatever rate."""
        pairs = zip(self.features[1:], other.features[1:], strict=True)
        return max(abs(a - b) for a, b in pairs) <= NEAR


def context_of(periods: Iterable[Observed]) -> Context:
    """What the traffic was like in these periods; raises ValueError where there is none.

    What a server does not tell is taken as a request on each connection, and nothing dynamic.
    """
    seen = observed_together(periods)
    requests, accepted = seen.arm.requests, seen.replies.connections_accepted
    return Context(
        rate_rps=requests / seen.seconds,
        reply_bytes=seen.replies.bytes_sent / max(requests, 1),
        requests_per_connection=requests / accepted if accepted else 1.0,
        dynamic_share=(seen.replies.dynamic or 0) / max(requests, 1),
    )


def traffic_of(servers: Sequence[Observed], usual: Observed | None = None) -> Context:
    """What the traffic of servers that share it was like in one period; raises ValueError where there is
    none.

    What some of them do not tell is as with those that do: which connections go where is chance. But what
    production did not tell while it was alone (`usual`) nobody is asked for: that its arms tell it would look
    like a change of the traffic.
    """
    rates = [(seen, seen.arm.requests / seen.seconds) for seen in servers]
    connections = [
        (requests, seen.replies.connections_accepted / seen.seconds)
        for seen, requests in rates
        if seen.replies.connections_accepted is not None
    ]
    dynamic = [
        (seen.replies.dynamic / seen.seconds, rate)
        for seen, rate in rates
        if seen.replies.dynamic is not None
    ]
    sent = [(seen.replies.bytes_sent / seen.seconds, rate) for seen, rate in rates]
    if usual is not None:
        connections = [] if usual.replies.connections_accepted is None else connections
        dynamic = [] if usual.replies.dynamic is None else dynamic
        sent = sent if usual.replies.bytes_sent else []
    return Context(
        rate_rps=math.fsum(rate for _, rate in rates),
        reply_bytes=_ratio(sent, 0.0),
        requests_per_connection=_ratio(connections, 1.0),
        dynamic_share=_ratio(dynamic, 0.0),
    )


def _ratio(pairs: Sequence[tuple[float, float]], otherwise: float) -> float:
    """The sum of the first ones over that of the second ones."""
    above, below = (math.fsum(each) for each in zip(*pairs, strict=True)) if pairs else (0.0, 0.0)
    return above / below if below else otherwise


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
            away = max(-MOST_OF_A_PERIOD, min(MOST_OF_A_PERIOD, (value - mean) / deviation))
            for side, sign in enumerate((1, -1)):
                sums[side] = max(0.0, sums[side] + sign * away - ALLOWANCE)
                changed = changed or sums[side] > CHANGE
        if changed:
            self._learnt = []
        return changed


def _mean_and_deviation(values: tuple[float, ...]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, max(math.sqrt(variance), LEAST_DEVIATION)
