"""Which rates one job drives, each decided by what was measured at the ones before.

First come the rates that the job names, in their order. Where the last of them was followed, and more is
wanted, the climb goes on upwards over *rungs* that are a constant factor apart, so that all trials meet the
same ones. A climb that is not over after a few rungs passes over some, up to `LONGEST_STRIDE` times the load
at once, until one is not followed; then it comes back to those it passed over, as far as needed to have the
last that was followed and the first that was not next to each other.

Then what lies between is halved (geometrically) a few times, so that the highest rate that the server follows
is known more finely than by the rungs. A server that did not even follow the lowest rate is asked for less: a
rung less where it climbs, then for much less.

It is a state machine without clock or network: the caller drives each `next_rate()` and tells what came of
it. A rate is *good* when the replies followed it and all rules held. A rate at which the load generator gave
out says nothing: the climb ends there, and what the server can do is only known from below.

    climbing = Climbing(ladder, rise=1.25, refinements=2)
    while (rate_rps := climbing.next_rate()) is not None:
        climbing.tell(rate_rps, good=…, limited=…)
"""

import math
from collections.abc import Sequence

DESCENT = 2.56  # a server that does not follow the lowest rate is next asked for that much less
MOST_DESCENTS = 4
SINGLE_STRIDES = 3  # so many rungs are taken one by one: most servers' best is not further from their default
LONGEST_STRIDE = 2.5  # a longer one would only measure how clients give up
MOST_RISES = 24


class Climbing:
    """The rates of one job, in requests per second.

    `first` are driven in any case, unless the generator gives out; `rise` is the factor of the climb beyond
    them (None: it ends there), `refinements` how often what lies between is halved. With `sure` the first
    rate that is not good is driven once more before it counts.
    """

    def __init__(
        self, first: Sequence[float], *, rise: float | None = None, refinements: int = 0, sure: bool = False
    ) -> None:
        self._first = tuple(first)
        self._rise = rise
        self._refinements_left = refinements
        self._sure = sure
        self._doubted: float | None = None
        self._told = 0
        self._rises = self._descents = 0
        self._rungs = [self._first[-1]]  # from the last of the first on, a factor apart
        self._reached = 0  # the highest of them that was driven
        self._good: set[float] = set()
        self._bad: set[float] = set()
        self.limited = False

    @property
    def followed_rps(self) -> float:
        """The highest rate that was good; 0 while none was."""
        return max(self._good, default=0.0)

    @property
    def lost_rps(self) -> float:
        """The lowest rate above that which was not; infinite while there is none."""
        return min((rate for rate in self._bad if rate > self.followed_rps), default=math.inf)

    @property
    def rising(self) -> bool:
        """Whether every rate so far was good, so that the next one, if any, is a higher one."""
        return self._doubted is None and math.isinf(self.lost_rps)

    def next_rate(self) -> float | None:
        """The rate to drive next, or None when the climb is over."""
        if self.limited:
            return None
        if self._doubted is not None:
            return self._doubted
        if self._told < len(self._first):
            return self._first[self._told]
        if math.isinf(self.lost_rps):
            return self._next_above() if self._rises < MOST_RISES else None
        if self.followed_rps == 0.0:
            descends = self._refinements_left and self._descents < MOST_DESCENTS
            return whole(self.lost_rps / self._descent) if descends else None
        passed = [rung for rung in self._rungs if self.followed_rps < rung < self.lost_rps]
        if passed:
            return passed[len(passed) // 2]
        between = whole(math.sqrt(self.followed_rps * self.lost_rps))
        return between if self._refinements_left and self.followed_rps < between < self.lost_rps else None

    def tell(self, rate_rps: float, *, good: bool, limited: bool = False) -> None:
        """Take in what became of the rate given last; `limited` where the generator gave out."""
        if limited and self.rising:
            self.limited = True
            return
        if not good and self._sure and self.rising:
            self._doubted = rate_rps
            return
        self._doubted = None
        if self._told < len(self._first):
            self._told += 1
        elif math.isinf(self.lost_rps):
            self._rises += 1
            while self._rungs[self._reached] < rate_rps:
                self._reached += 1
                self._rung(self._reached)
        elif self.followed_rps == 0.0:
            self._descents += 1
        elif rate_rps not in self._rungs:
            self._refinements_left -= 1
        (self._good if good and not limited else self._bad).add(rate_rps)

    @property
    def _descent(self) -> float:
        """By how much less the server is asked for next: a climb that begins where a server is expected to
        give way goes a rung down first.
        """
        return DESCENT if self._rise is None or self._descents else self._rise

    def _next_above(self) -> float | None:
        """The next rung above all that were driven; None where the climb ends with the first rates."""
        if self._rise is None:
            return None
        longest = max(1, int(math.log(LONGEST_STRIDE) / math.log(self._rise)))
        stride = min(longest, 1 << max(0, self._rises - SINGLE_STRIDES + 1))
        return self._rung(self._reached + stride)

    def _rung(self, number: int) -> float:
        """The rung of that number above the last of the first rates."""
        while len(self._rungs) <= number:
            self._rungs.append(next_rung(self._rungs[-1], self._rise or 1.0))
        return self._rungs[number]

    @property
    def steps_left(self) -> int:
        """How many more rates there are at least, as far as can be said (for progress bars)."""
        return 0 if self.next_rate() is None else len(self._first) - self._told + self._refinements_left


def whole(rate_rps: float) -> float:
    """A rate in whole requests per second, as far as it has any."""
    return float(round(rate_rps)) if rate_rps >= 1 else rate_rps


def next_rung(rate_rps: float, rise: float) -> float:
    """The rung above a rate, in requests per second: by the factor `rise`, and by one where that rounds to
    nothing more.
    """
    risen = whole(rate_rps * rise)
    return risen if risen > rate_rps else whole(rate_rps + 1)
