"""`accept_limit` of the core, adapted to the load second by second: how many connections are good at once.

A server that accepts all that it can under overload has more connections open than it serves well, and its
throughput falls. The limit to what one accept phase takes bounds them: in overload the connections open are
in proportion to it. Three parts adapt it, from the fastest to the slowest:

- Every second the limit is moved so that the connections open come near an aim. It is moved only where too
  many are open, or too few while others wait: a light load is left alone, and the limit where it is.
- The guard: where throughput falls while connections and service times rise, the aim goes back at once to
  four times the connections that were open in the seconds before.
- While connections wait, the aim is a little higher for some seconds and a little lower for as many, in
  random order. Whether throughput goes with the connections or against them is seen from the two, and the
  aim follows. That is the sign of their covariance (V. Gavrilenko and J. Thomsen, "Cinnamon Auto-Tuner:
  Adaptive Concurrency in the Wild", 2023), with the connections moved on purpose: a throughput that varies
  for other reasons moves them as well.

Nothing is compared with a best time or rate of long ago, so there is no baseline that drifts. More
connections have to be worth it (PRICE), so the aim does not grow for ever. It stays near what is open, so it
is not stuck where the limit has no effect. Nobody is refused: who is not accepted waits in the kernel's
queue.
"""

import math
from collections import deque
from dataclasses import dataclass
from statistics import median

import numpy as np

# As good as none: no phase finds more waiting.
MOST_LIMIT = 1024
# More than these waiting, or than one phase takes, are a queue; fewer have come since the last phase.
QUEUE = 16
# Seconds of a block with a higher or lower aim, and those at its beginning that do not count.
BLOCK_S, WASHOUT_S = 3, 1
APART = math.log(1.2)
# What throughput has to grow by, as a share of what connections grow by.
PRICE = 0.01
# The aim follows a slope by so much, where it is flat (and mostly noise) and where it is steep.
GAIN_FLAT, GAIN_STEEP = 0.5, 0.7
MOST_MOVE = math.log(2)
# Seconds that the guard remembers, and what it takes for a fall and a rise against them.
MEMORY_S = 10
FALLEN, RISEN = 0.8, 1.25
# What was open before may have been a light load; so many times as many are no flood yet.
HEADROOM = 4


@dataclass(frozen=True, slots=True)
class Second:
    """One second of the server. `open` are connections, `waiting` those that it has not accepted at its end;
    `service_s` is the mean time that a reply took.
    """

    open: float
    waiting: float
    throughput_rps: float
    service_s: float


class _Guard:
    """Sees an overload begin.

    It goes by the medians of the last seconds, which the first second of a flood does not move.
    """

    def __init__(self) -> None:
        self._last: deque[Second] = deque(maxlen=MEMORY_S)
        self._pause_s = 0

    def told(self, second: Second) -> float | None:
        """Takes in one more second; where an overload begins, the connections to go back to."""
        if self._pause_s:  # what was begun is to show first
            self._pause_s -= 1
            return None
        opened = median(each.open for each in self._last) if len(self._last) == MEMORY_S else math.inf
        if (
            second.open > RISEN * opened
            and second.service_s > RISEN * median(each.service_s for each in self._last)
            and second.throughput_rps < FALLEN * median(each.throughput_rps for each in self._last)
        ):
            self._pause_s = MEMORY_S
            return HEADROOM * opened
        self._last.append(second)
        return None


class AcceptLimitPolicy:
    """Says the limit for the next second, told of the last one."""

    def __init__(self, *, seed: int) -> None:
        self._chance = np.random.default_rng(seed)
        self._guard = _Guard()
        self._limit = float(MOST_LIMIT)
        self._target: float | None = None
        self._opens: deque[float] = deque(maxlen=MEMORY_S)
        self._begin_pair()

    @property
    def limit(self) -> int:
        """The limit in force; MOST_LIMIT stands for none."""
        return round(self._limit)

    def told(self, second: Second) -> int:
        """Takes in one more second, in order, and gives the limit for the next."""
        queued = second.waiting > min(self._limit, QUEUE)
        back_to = self._guard.told(second)
        if back_to is not None:
            self._target = min(max(back_to, 1.0), self._target or math.inf)
            self._begin_pair()
        elif self._target is None and queued:
            self._target = max(second.open, 1.0)
        if self._target is None:
            return self.limit
        if queued and second.open and second.throughput_rps:
            self._target = self._compared(second, self._target)
            self._approach(second, self._target * math.exp(APART * self._signs[0]), queued=True)
        else:
            self._begin_pair()
            self._approach(second, self._target, queued=queued)
        return self.limit

    def _approach(self, second: Second, aim: float, *, queued: bool) -> None:
        """Moves the limit so that the connections open come near the aim, by a factor of 2 at most."""
        if second.open > aim:
            # What one phase takes is open afterwards, so a limit above the aim limits nothing.
            self._limit = max(1.0, min(self._limit, aim) * max(aim / second.open, 0.5))
        elif queued:
            self._limit = min(float(MOST_LIMIT), self._limit * min(aim / max(second.open, 1.0), 2.0))

    def _begin_pair(self) -> None:
        """Two blocks, one with a higher aim (1) and one with a lower (-1)."""
        self._signs = [1, -1] if self._chance.random() < 0.5 else [-1, 1]
        self._block_s = 0
        self._seen: dict[int, list[tuple[float, float]]] = {1: [], -1: []}

    def _compared(self, second: Second, target: float) -> float:
        """The target after one more second of the pair of blocks under way."""
        aim = target * math.exp(APART * self._signs[0])
        if not aim / 2 < second.open < aim * 2:
            return self._on_the_way(second, target)
        self._opens.clear()
        self._block_s += 1
        if self._block_s > WASHOUT_S:
            self._seen[self._signs[0]].append((math.log(second.open), math.log(second.throughput_rps)))
        if self._block_s < BLOCK_S:
            return target
        if len(self._signs) == 2:
            self._limit = max(1.0, self._limit * math.exp(-2 * APART * self._signs[0]))
            del self._signs[0]
            self._block_s = 0
            return target
        target *= math.exp(self._move())
        opens = [at for seconds in self._seen.values() for at, _ in seconds]
        middle = math.exp(math.fsum(opens) / len(opens))
        self._begin_pair()
        return min(max(target, middle / 2), 2 * middle)

    def _on_the_way(self, second: Second, target: float) -> float:
        """The target while it is far from what is open: the latter, where it is as low as it gets."""
        self._opens.append(second.open)
        if len(self._opens) < MEMORY_S or self.limit > 1 or second.open < FALLEN * self._opens[0]:
            return target
        self._opens.clear()
        return second.open

    def _move(self) -> float:
        """How far the aim moves after a pair of blocks, as a logarithm."""
        high, low = (np.mean(self._seen[sign], axis=0) for sign in (1, -1))
        opened, replied = (float(difference) for difference in high - low)
        if opened < APART:
            # Half of what was asked for. A high limit does not bind yet, and a low one is too coarse for
            # such steps: there only a higher one shows anything.
            return -MOST_MOVE if self._limit > QUEUE else APART
        slope = replied / opened - PRICE
        gain = GAIN_FLAT + (GAIN_STEEP - GAIN_FLAT) * min(abs(slope), 1.0)
        return min(max(gain * slope, -MOST_MOVE), MOST_MOVE)
