"""What the elimination has measured of one question: a configuration and what is compared with it, in blocks.

Each block gives one ratio for each candidate; their mean logarithm is bounded by Student's t distribution.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from scipy.special import stdtrit
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial, Verdict

from trimtab_tuner.certainty.blocks import TRIES
from trimtab_tuner.certainty.cost import ALIKE_CPU
from trimtab_tuner.certainty.statistics import Gain

CERTAINTY = 0.95

Group = tuple[str, ...]
Figure = Callable[[Trial], float | None]
Times = Callable[[Trial, Trial], float | None]  # a figure of the second as a multiple of the first's


@dataclass
class Block:
    """Trials that follow one another, by configuration: of `base`, and of what is compared with it."""

    base: str
    trials: dict[str, Trial] = field(default_factory=dict)
    open: bool = True  # for further configurations; not where a trial was spoilt again and again


class Blocks:
    """The blocks that `trials` fill so far, of at most `budget_trials`, those that were spoilt included.

    Whoever asks for the same again, in the same order, is told the same: `next_slot` is what is to be
    measured before the next answer, by the number of its block; `spent` are the trials so far.
    """

    def __init__(self, trials: Sequence[Trial], budget_trials: int, seed: int) -> None:
        self._done: dict[tuple[int, str], list[Trial]] = {}
        for trial in trials:
            if trial.verdict is not Verdict.ABORTED:
                self._done.setdefault((trial.block, trial.configuration_hash), []).append(trial)
        self._budget_trials = budget_trials
        self._seed = seed
        self.begun: list[Block] = []
        self.next_slot: tuple[int, Configuration] | None = None
        self.spent = 0

    @property
    def left(self) -> int:
        """How many more trials there may be."""
        return self._budget_trials - self.spent

    def held(self, base: Configuration) -> Mapping[str, Trial]:
        """The trials of the last block, if others may still join it to be compared with this base."""
        last, digest = self.begun[-1] if self.begun else Block(""), configuration_hash(base)
        return last.trials if last.open and last.base == digest in last.trials else {}

    def go_on(self, base: Configuration, others: Sequence[Configuration]) -> bool:
        """Whether one more block of these is whole: the last one with what it lacks of them, or a new one.

        If not, one of its trials is still to be measured (`next_slot`), or too few are left for it.
        """
        held = self.held(base)
        missing = [each for each in (base, *others) if configuration_hash(each) not in held]
        if held and missing and len(missing) <= self.left and self._fill(missing):
            return True
        while self.next_slot is None and len(others) < self.left:
            self.begun.append(Block(configuration_hash(base)))
            if self._fill([base, *others]):
                return True
        return False

    def _fill(self, missing: Sequence[Configuration]) -> bool:
        """Takes in what is measured of the last block; whether that is all. One that was spoilt is closed."""
        block = self.begun[-1]
        shuffler = random.Random(f"{self._seed} {len(self.begun)}")  # noqa: S311 - an experiment's order
        for configuration in shuffler.sample(missing, len(missing)):
            trial = self._trial_of(configuration)
            if trial is None:
                return False
            if trial.verdict.spoilt:
                block.open = False
                return False
            block.trials[trial.configuration_hash] = trial
        return True

    def _trial_of(self, configuration: Configuration) -> Trial | None:
        """The one that counts of the last block; None where it is still to be measured, or none is left."""
        block = len(self.begun)
        tries = self._done.get((block, configuration_hash(configuration)), [])
        self.spent += len(tries)
        if not tries or (tries[-1].verdict.spoilt and len(tries) < TRIES):
            if self.left > 0:
                self.next_slot = block, configuration
            return None
        return tries[-1]


@dataclass(frozen=True)
class Round:
    """One configuration and those without some of its settings (or a first change alone), side by side in all
    blocks that hold both, whatever they were measured for.

    Of those, a block only counts whose base the configuration was: another has been chosen by its figures.
    """

    current: Configuration
    candidates: dict[Group, Configuration]
    measured: Sequence[Block]
    figure: Figure
    cpu: Times | None = None

    def blocks(self, group: Group) -> int:
        """How many hold both."""
        return len(self._pairs(group))

    def losses(self, group: Group) -> list[float]:
        """Of each block that tells: the logarithm of what is lost without the group."""
        figures = [(self.figure(with_it), self.figure(without)) for with_it, without in self._pairs(group)]
        return [math.log(a / b) for a, b in figures if a and b]

    def saves_cpu(self, group: Group) -> bool:
        """Whether a request takes less CPU time without the group, in the mean of the blocks that tell, and
        by more than chance makes of it in one.
        """
        times = [self.cpu(*pair) for pair in self._pairs(group)] if self.cpu else []
        logs = [math.log(each) for each in times if each]
        return bool(logs) and fmean(logs) < -ALIKE_CPU

    def fails(self, group: Group) -> bool:
        """Whether a rule breaks without the group in most blocks, and with it does not."""
        pairs = self._pairs(group)
        failed = sum(without.verdict.failed for _, without in pairs)
        nothing = sum(not self.figure(without) for _, without in pairs)
        broken = max(failed, nothing)
        return broken > len(pairs) // 2 >= sum(with_it.verdict.failed for with_it, _ in pairs)

    def _pairs(self, group: Group) -> list[tuple[Trial, Trial]]:
        now, without = configuration_hash(self.current), configuration_hash(self.candidates[group])
        own = [block.trials for block in self.measured if block.base == now]
        return [(each[now], each[without]) for each in own if now in each and without in each]


@dataclass(frozen=True)
class Bounds:
    """The mean of logarithms of losses, with its standard error and the degrees of freedom behind that."""

    mean: float
    error: float
    freedom: int

    def upper(self) -> float:
        """One-sided."""
        return self.mean + float(stdtrit(self.freedom, CERTAINTY)) * self.error

    def lower(self) -> float:
        """One-sided."""
        return self.mean - float(stdtrit(self.freedom, CERTAINTY)) * self.error

    @property
    def told_from_nothing(self) -> bool:
        """Whether something is lost: the 95 % interval lies above 0."""
        return math.isfinite(self.error) and self.mean > self._margin

    def gain(self, blocks: int) -> Gain:
        """What the setting gives, with its 95 % interval if the noise is known."""
        if not math.isfinite(self.error):
            return Gain(gain=math.expm1(self.mean), low=None, high=None, significant=False, blocks=blocks)
        return Gain(
            gain=math.expm1(self.mean),
            low=math.expm1(self.mean - self._margin),
            high=math.expm1(self.mean + self._margin),
            significant=abs(self.mean) > self._margin,
            blocks=blocks,
        )

    @property
    def _margin(self) -> float:
        """Half of the two-sided interval."""
        return float(stdtrit(self.freedom, 0.975)) * self.error
