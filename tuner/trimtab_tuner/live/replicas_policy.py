"""Replicas of a server, switched on and off by the share of requests that a program answers.

Replicas pay where requests are for files and one instance's processes are short of CPU time, and cost where a
program does most of the work (R. Hashemian et al., "Improving the Scalability of a Multi-core Web Server",
2013: 1.56 times the throughput with static requests, a loss with dynamic ones). Where the limit lies depends
on the machine. So it is not assumed: for each class of dynamic shares replicas are tried, on and off by
turns, until it is known what serves better with it; from then on a change of the class is answered at once.

Better is what answers more requests in a second. Where both answer all there are, it is what takes less CPU
time of the whole machine for each. Where no difference is shown, there are no replicas.
"""

import math
from bisect import bisect
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab_tuner.live.evidence import Above
from trimtab_tuner.wording import in_percent

# Classes of the share of dynamic requests end at these.
CLASS_ENDS = (0.05, 0.2, 0.5)
# A class has changed when so many seconds in a row are of another one.
CHANGED_S = 5
# A block of one side or the other, and what is not compared of it: replicas start, connections move.
BLOCK_S, WASHOUT_S = 12, 4
MARGIN = 0.02
ALPHA = 0.1
MOST_PAIRS = 12
# What was found is asked again after so many hours of that class: the machine may have changed.
FORGOTTEN_S = 6 * 3600


@dataclass(frozen=True, slots=True)
class Second:
    """One second of a server with its replicas: requests answered, how many of them by a program, and the CPU
    time that the whole machine has used.
    """

    requests: int
    dynamic: int
    cpu_s: float


@dataclass
class _Known:
    """What is known of a class: whether replicas serve it better, why, and for how many seconds yet."""

    on: bool
    because: str
    left_s: float = FORGOTTEN_S


class _Trial:
    """Pairs of blocks, with replicas and without, in random order, until one side has been shown to be
    better.
    """

    def __init__(self, chance: np.random.Generator) -> None:
        self._chance = chance
        self._more, self._fewer = Above(math.log1p(MARGIN)), Above(math.log1p(MARGIN))
        self._cheaper, self._dearer = Above(math.log1p(MARGIN)), Above(math.log1p(MARGIN))
        self._pairs = 0
        self._begin_pair()

    @property
    def on(self) -> bool:
        """Whether replicas are on in the block under way."""
        return self._to_come[0]

    def told(self, second: Second) -> _Known | None:
        """Takes in one more second; what is known now, if anything is."""
        self._at_s += 1
        if self._at_s > WASHOUT_S:
            self._seen.append(second)
        if self._at_s < BLOCK_S:
            return None
        self._means[self.on] = _mean(self._seen)
        del self._to_come[0]
        self._begin_block()
        if self._to_come:
            return None
        return self._compared()

    def _compared(self) -> _Known | None:
        (rate_on, cost_on), (rate_off, cost_off) = self._means[True], self._means[False]
        self._begin_pair()
        if not (rate_on and rate_off and cost_on and cost_off):
            return None
        self._pairs += 1
        rates, costs = math.log(rate_on / rate_off), math.log(cost_on / cost_off)
        for bet, difference in (
            (self._more, rates),
            (self._fewer, -rates),
            (self._cheaper, -costs),
            (self._dearer, costs),
        ):
            bet.tell(difference)
        needed = math.log(4 / ALPHA)
        if self._more.evidence >= needed:
            return _Known(on=True, because="more requests are answered with them")
        if self._fewer.evidence >= needed:
            return _Known(on=False, because="fewer requests are answered with them")
        if self._cheaper.evidence >= needed:
            return _Known(on=True, because="a request takes less CPU time with them")
        if self._dearer.evidence >= needed:
            return _Known(on=False, because="a request takes more CPU time with them")
        if self._pairs >= MOST_PAIRS:
            return _Known(on=False, because=f"no difference was shown in {self._pairs} pairs of blocks")
        return None

    def _begin_pair(self) -> None:
        self._to_come = [True, False] if self._chance.random() < 0.5 else [False, True]
        self._means: dict[bool, tuple[float, float]] = {}
        self._begin_block()

    def _begin_block(self) -> None:
        self._at_s = 0
        self._seen: list[Second] = []


class ReplicasPolicy:
    """Says whether replicas are to be on in the next second, told of the last one."""

    def __init__(self, *, seed: int) -> None:
        self._chance = np.random.default_rng(seed)
        self._known: dict[int, _Known] = {}
        self._trials: dict[int, _Trial] = {}
        self._latest: deque[int] = deque(maxlen=CHANGED_S)
        self._class: int | None = None
        self.said = ""
        """What was decided last, in a sentence."""

    @property
    def on(self) -> bool:
        """Whether replicas are to be on now."""
        if self._class is None:
            return False
        known = self._known.get(self._class)
        return known.on if known is not None else self._trials[self._class].on

    @property
    def is_trying(self) -> bool:
        """Whether it is being found out what serves the class under way better."""
        return self._class is not None and self._class not in self._known

    def told(self, second: Second) -> bool:
        """Takes in one more second, in order; whether replicas are to be on."""
        if second.requests:
            self._follow(bisect(CLASS_ENDS, second.dynamic / second.requests))
        if self._class is None:
            return False
        known = self._known.get(self._class)
        if known is not None:
            known.left_s -= 1
            if known.left_s <= 0:
                del self._known[self._class]
                self._trials[self._class] = _Trial(self._chance)
        elif (found := self._trials[self._class].told(second)) is not None:
            self._known[self._class] = found
            self.said = f"{self.class_in_words}: replicas {'on' if found.on else 'off'}, {found.because}"
        return self.on

    @property
    def class_in_words(self) -> str:
        """The class under way."""
        if self._class is None:
            return "no requests yet"
        ends = ["0 %", *(in_percent(end) for end in CLASS_ENDS), "100 %"]
        return f"{ends[self._class]} to {ends[self._class + 1]} dynamic"

    def _follow(self, now: int) -> None:
        """The class changes when all of the latest seconds are of another."""
        self._latest.append(now)
        is_new = len(self._latest) == CHANGED_S and set(self._latest) == {now} and now != self._class
        if not is_new:
            return
        self._class = now
        if now not in self._known:  # a trial that was broken off begins anew: its block is not whole
            self._trials[now] = _Trial(self._chance)
        known = self._known.get(now)
        what = "finding out" if known is None else f"replicas {'on' if known.on else 'off'}, as was found"
        self.said = f"{self.class_in_words}: {what}"


def _mean(seconds: Sequence[Second]) -> tuple[float, float]:
    """Requests a second, and CPU seconds a request; 0 where there were none."""
    requests = sum(second.requests for second in seconds)
    cost = sum(second.cpu_s for second in seconds) / requests if requests else 0.0
    return requests / max(len(seconds), 1), cost
