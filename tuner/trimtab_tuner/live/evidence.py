"""Evidence that may be looked at at any time: of paired differences, and of rare events in two arms.

Live traffic is judged every half second, and a judgement may end the experiment. A t-test that is repeated
like that finds something sooner or later. What stands here are e-processes: the factor by which a bet against
the null hypothesis has multiplied its stake. Whoever stops when it first exceeds 1/alpha is wrong with
probability alpha at most, however often and for however long it is looked at (Ville's inequality).

Paired differences. Two arms with the same weight that are the same get what they get by chance, so the
difference between them lies symmetrically about 0, whatever its distribution, and given all that went before.
What stays with one of two equal processes for as long as it lives, such as where its memory lies, is not
undone by that: so a gain is only believed beyond a margin (episode.py). For such an x, exp(l x - l^2 x^2 / 2)
is at most 1 in the mean for every l (de la Pena, "A general class of exponential inequalities for martingales
and ratios", 1999), heavy tails included; a mixture over l gives the bet. It grows by a factor of e^(1/2) a
value at most, so half of the stake is on the sign alone, which grows by 2 where all values agree.

Connections. The kernel draws for each new connection whose it is (agent/trimtab_agent/live/filters.py), so
two arms with the same share have each of theirs by a fair coin, whatever the clients do. An arm that tells of
fewer has lost some: dropped them, or left them waiting. The bet is on the coin.

Rare events. Where errors fall to two arms by the number of requests that each has, each error belongs to the
canary with a known probability. The bet is on that probability being higher.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import special

# Scales of l that the bet is spread over, half an octave apart; the best is the inverse of the noise.
_SCALES = np.geomspace(0.125, 1024, 27)
_SHARES_TAKEN = np.array([0.0, 0.1, 0.5, 0.75, 0.9, 0.95])
_TIMES_AS_OFTEN = np.array([1.5, 2.0, 4.0, 10.0, 100.0])
# Of the range that a bound lies in, which is no wider than the bound is far from the middle: so it is told to
# a millionth of that distance, and never beyond what has been shown. Each costs as much as a bet.
_HALVINGS = 20


class Above:
    """The bet that paired differences lie above a limit, as they come in.

    The null hypothesis is that they are symmetric about something that is not above `limit`.
    """

    def __init__(self, limit: float = 0.0) -> None:
        self._limit = limit
        self._total, self._squares = 0.0, 0.0
        self._above, self._below = 0, 0

    def tell(self, difference: float) -> None:
        """One more difference, in the order of time."""
        over = difference - self._limit
        self._total += over
        self._squares += over * over
        self._above += over > 0
        self._below += over < 0

    @property
    def evidence(self) -> float:
        """The natural logarithm of the evidence that the differences lie above the limit."""
        if not self._squares:
            return 0.0
        of_sizes = _of_sizes(self._total, self._squares)
        return float(np.logaddexp(of_sizes, _of_signs(self._above, self._below)) - math.log(2))


class Middle:
    """Where the middle of paired differences lies, as they come in."""

    def __init__(self) -> None:
        self._count, self._total, self._squares = 0, 0.0, 0.0

    def tell(self, difference: float) -> None:
        """One more difference, in the order of time."""
        self._count += 1
        self._total += difference
        self._squares += difference * difference

    def bounds(self, alpha: float) -> tuple[float, float]:
        """The interval in which the middle lies, at any time and with an error of `alpha`.

        Each side has half of the error. A side of which nothing can be said yet is infinite.
        """
        lower = _lower_bound(self._count, self._total, self._squares, alpha / 2)
        return lower, -_lower_bound(self._count, -self._total, self._squares, alpha / 2)


def _of_sizes(total: float, squares: float) -> float:
    """The bet on the size: l is half-normal, with a scale that is one of several (a mixture of mixtures)."""
    spread = 1 + _SCALES**2 * squares
    logs = (
        math.log(2)
        - 0.5 * np.log(spread)
        + _SCALES**2 * total**2 / (2 * spread)
        + special.log_ndtr(_SCALES * total / np.sqrt(spread))
    )
    return float(np.logaddexp.reduce(logs) - math.log(len(_SCALES)))


def _of_signs(above: int, below: int) -> float:
    """The bet on the sign: the share of values above the limit is uniform between a half and 1."""
    # The integral of p^above (1 - p)^below over [1/2, 1], by the incomplete beta function.
    share = float(special.betainc(below + 1, above + 1, 0.5))
    if share <= 0:
        return -math.inf
    return (above + below + 1) * math.log(2) + float(special.betaln(above + 1, below + 1)) + math.log(share)


def _lower_bound(count: int, total: float, squares: float, alpha: float) -> float:
    """The highest limit that values with this sum and this sum of squares have been shown to lie above."""
    needed = -math.log(alpha)

    def shown(limit: float) -> bool:
        return _of_sizes(total - count * limit, squares - 2 * limit * total + count * limit**2) >= needed

    if count < 2 * needed:  # not even the most extreme values could show anything by their size
        return -math.inf
    middle = total / count
    deviation = math.sqrt(max(squares / count - middle**2, 0.0))
    step = max(deviation, abs(middle), 1e-9) / math.sqrt(count)
    # Values that are all the same have no scale of their own: the bet's widest is theirs.
    farthest = middle - max(1000 * step * math.sqrt(count), 1 / _SCALES[0])
    low = middle - step
    high = middle
    while not shown(low):
        high = low
        step *= 2
        low = middle - step
        if low < farthest:
            return -math.inf
    for _ in range(_HALVINGS):
        between = (low + high) / 2
        if shown(between):
            low = between
        else:
            high = between
    return low


class Excess:
    """Whether events come more often in one arm than their share of the requests, as counts come in."""

    def __init__(self) -> None:
        self._logs = np.zeros(len(_TIMES_AS_OFTEN))

    def tell(self, own: int, others: int, share: float) -> None:
        """`own` events of the arm and `others` of what it is compared with, in one period; `share` of the
        requests of both were the arm's (0 to 1)."""
        events = own + others
        if not events or not 0 < share < 1:
            return
        # Errors of one period may have one cause, a client that goes away for instance: together they count
        # as one event. A power of at most 1 of something whose mean is at most 1 has such a mean too.
        log_ratio = own * np.log(_TIMES_AS_OFTEN) - events * np.log1p(share * (_TIMES_AS_OFTEN - 1))
        self._logs += log_ratio / events

    @property
    def evidence(self) -> float:
        """The natural logarithm of the evidence that events are more frequent in the arm."""
        return float(np.logaddexp.reduce(self._logs) - math.log(len(self._logs)))


class Fewer:
    """Whether an arm takes fewer of the connections drawn for it than another with the same share."""

    def __init__(self) -> None:
        self._logs = np.zeros(len(_SHARES_TAKEN))

    def tell(self, own: int, others: int) -> None:
        """How many new connections each has told of in one more period."""
        # Of the connections that are told of, so many are the arm's if it takes only this share of its own.
        with np.errstate(divide="ignore"):
            taken = own * np.log(2 * _SHARES_TAKEN / (1 + _SHARES_TAKEN)) if own else 0.0
        self._logs += taken + others * np.log(2 / (1 + _SHARES_TAKEN))

    @property
    def evidence(self) -> float:
        """The natural logarithm of the evidence that the arm takes fewer."""
        return float(np.logaddexp.reduce(self._logs) - math.log(len(self._logs)))


def share_bounds(events: int, trials: int, alpha: float) -> tuple[float, float]:
    """The interval of the probability of an event, at any time and with an error of `alpha`.

    By the bet on each probability against a mixture of all (H. Robbins, "Statistical methods related to the
    law of the iterated logarithm", 1970), if the events are independent.
    """
    if not trials:
        return 0.0, 1.0
    mixture = special.betaln(events + 0.5, trials - events + 0.5) - special.betaln(0.5, 0.5)

    def is_ruled_out(share: float) -> bool:
        likelihood = special.xlogy(events, share) + special.xlog1py(trials - events, -share)
        return bool(mixture - likelihood > -math.log(alpha))

    return _edge(events / trials, 0.0, is_ruled_out), _edge(events / trials, 1.0, is_ruled_out)


def _edge(inside: float, end: float, is_ruled_out: Callable[[float], bool]) -> float:
    """The edge between what is not ruled out and an end of the range; the end itself where nothing is."""
    if not is_ruled_out(end):
        return end
    for _ in range(50):
        between = (inside + end) / 2
        inside, end = (inside, between) if is_ruled_out(between) else (between, end)
    return end
