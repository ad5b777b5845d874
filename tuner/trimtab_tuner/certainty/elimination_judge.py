"""What the elimination (`elimination.py`) makes of its blocks: what may be left out, and what is kept.

Each block gives for each candidate one ratio to the configuration that has the setting, whatever it
was measured for first. Their noise is pooled: over the blocks of the check, over the checks before it that
found nothing, and with what the search has seen of it. A candidate is left out as soon as the upper bound
(95 %, one-sided) of what it costs, with what earlier ones have cost, is below `MOST_LOSS`. It is kept as soon
as the lower one is above, or as it breaks a rule. It is kept as well once it costs that much in the mean of
three blocks and is told from nothing (its 95 % interval lies above 0); where it is not, only once it seems to
cost `LEAST_SEEMING`. A group that costs `MOST_LOSS` in the mean of two blocks is checked in parts. Where the
trials are used up before, two that cannot be told apart in capacity are left: the one nearer to the default
is taken, unless it seems to cost `LEAST_SEEMING` (a group: `MOST_LOSS`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from trimtab_tuner.certainty.blocks import FEWEST_BLOCKS
from trimtab_tuner.certainty.elimination_rounds import Bounds, Group, Round

MOST_LOSS = 0.02
# What a setting that is not told from nothing has to seem to be worth. On a noisy host the mean of three
# blocks strays by more than MOST_LOSS, so that a setting that does nothing often seems to be worth as much.
# It seldom strays by twice that; and of what seems to be worth less nobody can say what it is kept for.
LEAST_SEEMING = 2 * MOST_LOSS
QUIET_LOSS = 0.03  # what costs less in the one block of screening is not shown to matter
QUIET_ERRORS = 2.5  # standard errors: the same on a noisy host
# How much the capacity of a short climb differs from that of the next, as a share, where nothing has shown
# it: a default that its own limit makes fail has no scores. Between 6 and 9 % were seen with nginx.
USUAL_NOISE_OF_A_CLIMB = 0.06
FIRST_ERRORS = 1.5  # of those: what the first block of a first question may lose
BLOCKS_FOR_A_MEAN = 3  # and the most for a first question: what is undecided then needs the trials more
LEAST_VARIANCE = 1e-8  # of a logarithm: blocks that agree by chance do not prove anything


@dataclass(frozen=True)
class KnownNoise:
    """What is known of the noise of one trial before: squares of logarithms round their mean, and how many
    degrees of freedom they have.
    """

    squares: float = 0.0
    freedom: int = 0


class Judge:
    """The rule, with what has been lost and what has been learnt of the noise so far; `noise` is what was
    known of it before.
    """

    def __init__(self, noise: KnownNoise) -> None:
        self._noise = noise
        self._lost = 0.0  # by what has been left out: a logarithm

    def bounds(self, losses: Sequence[float]) -> Bounds:
        """Of what these blocks say is lost, with all that is known of noise."""
        mean = fmean(losses)
        squares = 2 * self._noise.squares + sum((loss - mean) ** 2 for loss in losses)
        freedom = self._noise.freedom + len(losses) - 1
        variance = max(LEAST_VARIANCE, squares / freedom) if freedom else math.inf
        return Bounds(mean, math.sqrt(variance / len(losses)), max(1, freedom))

    def costs_little(self, found: Round, group: Group) -> bool:
        """Whether one block does not show that the group matters."""
        losses = found.losses(group)
        if not losses or found.fails(group):
            return False
        bounds = self.bounds(losses)
        error = bounds.error if math.isfinite(bounds.error) else 0.0
        return bounds.mean < max(QUIET_LOSS, QUIET_ERRORS * error)

    def may_cost_little(self, found: Round, group: Group) -> bool:
        """Whether a first question goes on after its first block, whose answer decides on all of the group.

        As `costs_little`; but where nothing is known of the noise, one climb is not taken for the truth.
        """
        losses = found.losses(group)
        if not losses or found.fails(group):
            return False
        bounds = self.bounds(losses)
        usual = math.sqrt(2) * USUAL_NOISE_OF_A_CLIMB
        unknown = not math.isfinite(bounds.error)
        return self.costs_little(found, group) or (unknown and bounds.mean < FIRST_ERRORS * usual)

    def answered(self, found: Round, group: Group) -> bool:
        """Whether a first question has its answer after some blocks, whatever further ones say."""
        losses = found.losses(group)
        if self.droppable(found, group) or self._surely_matters(found, group):
            return True
        bounds = self.bounds(losses)
        return len(losses) >= FEWEST_BLOCKS and bounds.told_from_nothing and bounds.mean > self._most_loss

    def droppable(self, found: Round, group: Group) -> bool:
        """Whether too little is lost without the group to keep it, by the upper bound."""
        losses = found.losses(group)
        if len(losses) < FEWEST_BLOCKS or found.fails(group):
            return False
        return self.bounds(losses).upper() < self._most_loss

    def justified(self, found: Round, group: Group) -> bool:
        """Whether a setting matters, or of a group at least one, each of which is then checked."""
        if self._surely_matters(found, group):
            return True
        blocks, losses = found.blocks(group), found.losses(group)
        if len(losses) < FEWEST_BLOCKS:
            return False
        bounds, most = self.bounds(losses), self._most_loss
        if len(group) > 1:
            return bounds.mean > most
        if not bounds.told_from_nothing:
            most = self._least_seeming
        return blocks >= BLOCKS_FOR_A_MEAN and bounds.mean > most

    def _surely_matters(self, found: Round, group: Group) -> bool:
        """Whether too much is lost without the group, by the lower bound, or a rule breaks."""
        if found.blocks(group) < FEWEST_BLOCKS:
            return False
        losses = found.losses(group)
        told = len(losses) >= FEWEST_BLOCKS
        return found.fails(group) or (told and self.bounds(losses).lower() > self._most_loss)

    def matters(self, found: Round, group: Group) -> bool:
        """Whether to keep what no further block can be had for."""
        losses = found.losses(group)
        if len(losses) < FEWEST_BLOCKS or found.fails(group):
            return True
        if len(group) == 1:
            return not self.unproven(found, group)
        bounds = self.bounds(losses)  # some of it may be told from nothing by itself
        return bounds.lower() > 0 or bounds.mean > self._most_loss

    def unproven(self, found: Round, group: Group) -> bool:
        """Whether it was measured, is not told from nothing, and does not seem to be worth enough to keep a
        setting for it.
        """
        losses = found.losses(group)
        if not losses or found.fails(group):
            return False
        bounds = self.bounds(losses)
        known = math.isfinite(bounds.error)
        return known and not bounds.told_from_nothing and bounds.mean <= self._least_seeming

    def does_as_much(self, found: Round, group: Group) -> bool:
        """The answer to a first question when its blocks are over: of what cannot be told apart in capacity
        what takes less CPU time a request is left, or else what does not seem to lose enough.
        """
        losses = found.losses(group)
        if self.droppable(found, group) or self.unproven(found, group):
            return True
        told = not losses or found.fails(group) or self.bounds(losses).told_from_nothing
        return not told and found.saves_cpu(group)

    def left_out(self, losses: Sequence[float]) -> None:
        """Something was found worth nothing: what that has cost, and what its blocks say of the noise."""
        mean = fmean(losses)
        self._noise = KnownNoise(
            self._noise.squares + sum((loss - mean) ** 2 for loss in losses) / 2,
            self._noise.freedom + len(losses) - 1,
        )
        self._lost += max(0.0, mean)

    @property
    def _most_loss(self) -> float:
        """What leaving something out may still cost: a logarithm."""
        return -math.log1p(-MOST_LOSS) - self._lost

    @property
    def _least_seeming(self) -> float:
        """What it may still seem to cost where that is not told from nothing: a logarithm."""
        return -math.log1p(-LEAST_SEEMING) - self._lost
