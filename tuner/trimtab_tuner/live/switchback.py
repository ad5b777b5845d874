"""A switchback: one server that has the incumbent's value for some seconds and the candidate's for some.

For knobs that arms beside production would share or could not show (a limit that is set while the server
runs), and for servers beside which there can be no arms. Blocks come in pairs, one of each side in random
order and both of the same length, which is drawn anew for each pair, so that nothing in the traffic can keep
step with them. After a change the server needs a moment until only the new value counts: the beginning of
each block, the washout, is not compared.

A pair is what a period is to an episode with arms, and an episode of one step judges the pairs (episode.py).
Seconds within a block are not compared one by one: what they have in common would count many times. The
candidate has all of the traffic while its block lasts, so a hang ends it within seconds; everything else that
people must not see is a matter of guards (guards.py).
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from trimtab_tuner.live.episode import Action, Decision, Episode, Rules
from trimtab_tuner.live.observed import CLASSES, ArmPeriod, Served, together

# A gain of 5 % takes about half of them where blocks differ by 3 %: half an hour, of the shortest blocks.
MOST_PAIRS = 120
# Each side has half of the time, as an arm has half of the connections.
SHARE = 0.5
NOTHING = ArmPeriod(served=(Served(),) * CLASSES)


class Side(StrEnum):
    """Whose value is in force."""

    INCUMBENT = "incumbent"
    CANDIDATE = "candidate"


@dataclass(frozen=True, slots=True)
class Lengths:
    """Between which a block's length is drawn, and how much of its beginning is not compared."""

    shortest_s: float
    longest_s: float
    washout_s: float


# What is set while the server runs counts at once for new connections.
BY_SETTING = Lengths(5.0, 10.0, 2.0)


def by_reloads(an_hour: int) -> Lengths:
    """Blocks for what takes a reload each time, and no more of those in an hour than that.

    Workers that answer what they have begun are gone after a while.
    """
    shortest_s = max(60.0, 3600.0 / an_hour)
    return Lengths(shortest_s, 1.5 * shortest_s, 15.0)


@dataclass(frozen=True, slots=True)
class Block:
    """So long one side's value is in force; what is seen before `washout_s` have passed is not compared."""

    side: Side
    length_s: float
    washout_s: float


class Switchback:
    """Says which block is under way, is told what is seen in it, and judges the candidate."""

    def __init__(self, rules: Rules, *, seed: int, lengths: Lengths = BY_SETTING) -> None:
        """`rules`: as of an episode with arms, of which a switchback has one step, and an end of its own."""
        self._lengths = lengths
        rules = rules.model_copy(update={"steps": (SHARE,), "most_periods": MOST_PAIRS})
        self._hang_periods = rules.hang_periods
        self._episode = Episode(rules, at_once=False)
        self._chance = np.random.default_rng(seed)
        self._to_come: list[Block] = []
        self._seen: dict[Side, ArmPeriod] = {}
        self._answered, self._hanging = False, 0
        self._begin_block()

    @property
    def block(self) -> Block:
        """The block under way: its value is to be in force."""
        return self._to_come[0]

    def told(self, period: ArmPeriod, *, from_s: float, until_s: float) -> Decision:
        """Takes in a period of the block, which lasted from then until then since the block began.

        The period that reaches the end of the block ends it. After a decision that ends the switchback, tell
        no more: `share` is the candidate's share of the time, and 0 puts the incumbent back.
        """
        if self._hangs(period):
            reason = f"connections waited and none was answered in {self._hanging} periods"
            return Decision(Action.ROLL_BACK, 0.0, reason)
        if from_s >= self.block.washout_s:
            self._counted.append(period)
        if until_s < self.block.length_s:
            return Decision(Action.GO_ON, SHARE, "")
        self._seen[self.block.side] = together(self._counted)
        del self._to_come[0]
        self._begin_block()
        if len(self._seen) < len(Side):
            return Decision(Action.GO_ON, SHARE, "")
        seen, self._seen = self._seen, {}
        return self._episode.told(NOTHING, seen[Side.INCUMBENT], seen[Side.CANDIDATE])

    @property
    def episode(self) -> Episode:
        """What judges the pairs, and knows the interval of the change so far."""
        return self._episode

    def _begin_block(self) -> None:
        if not self._to_come:
            lengths = self._lengths
            length_s = float(self._chance.uniform(lengths.shortest_s, lengths.longest_s))
            # A hang is told by what the incumbent answers, so that comes first until it has been seen.
            incumbent_first = self._chance.random() < 0.5 or not self._answered
            sides = list(Side) if incumbent_first else list(reversed(Side))
            self._to_come = [Block(side, length_s, lengths.washout_s) for side in sides]
        self._counted = [NOTHING]

    def _hangs(self, period: ArmPeriod) -> bool:
        """Whether the candidate has answered nobody for too long, while the incumbent has answered before."""
        hung = period.waiting > 0 and not period.requests
        if self.block.side is Side.INCUMBENT:
            self._answered = self._answered or period.requests > 0
            hung = False
        self._hanging = self._hanging + 1 if hung and self._answered else 0
        return self._hanging >= self._hang_periods
