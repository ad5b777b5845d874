"""What the elimination has measured of one question: a configuration and what is compared with it, in blocks.

Each block gives one ratio for each candidate; their mean logarithm is bounded by Student's t distribution.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from scipy.special import stdtrit
from trimtab_trials.configuration import Configuration, configuration_hash
from trimtab_trials.trial import Trial

from trimtab_tuner.certainty.statistics import Gain

CERTAINTY = 0.95

Group = tuple[str, ...]
Figure = Callable[[Trial], float | None]


@dataclass
class Round:
    """One configuration and those without some of its settings (or a first change alone), in blocks."""

    current: Configuration
    candidates: dict[Group, Configuration]
    figures: dict[str, list[float | None]] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)

    @property
    def blocks(self) -> int:
        """How many have been taken in."""
        return len(self.figures.get(configuration_hash(self.current), ()))

    def take_in(self, trials: Mapping[str, Trial], figure: Figure) -> None:
        """The trials of a further block, by configuration; `figure` says what each has shown."""
        for digest, trial in trials.items():
            self.figures.setdefault(digest, []).append(figure(trial))
            self.failed[digest] = self.failed.get(digest, 0) + trial.verdict.failed

    def losses(self, group: Group) -> list[float]:
        """Of each block that tells: the logarithm of what is lost without the group."""
        with_it = self.figures[configuration_hash(self.current)]
        without = self.figures[configuration_hash(self.candidates[group])]
        return [math.log(a / b) for a, b in zip(with_it, without, strict=False) if a and b]

    def fails(self, group: Group) -> bool:
        """Whether a rule breaks without the group in most blocks, and with it does not."""
        without = configuration_hash(self.candidates[group])
        with_it = configuration_hash(self.current)
        blocks = len(self.figures[without])
        nothing = sum(not value for value in self.figures[without])
        broken = max(self.failed[without], nothing)
        return broken > blocks // 2 >= self.failed[with_it]


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

    def gain(self, blocks: int) -> Gain:
        """What the setting gives, with its 95 % interval if the noise is known."""
        if not math.isfinite(self.error):
            return Gain(gain=math.expm1(self.mean), low=None, high=None, significant=False, blocks=blocks)
        margin = float(stdtrit(self.freedom, 0.975)) * self.error
        return Gain(
            gain=math.expm1(self.mean),
            low=math.expm1(self.mean - margin),
            high=math.expm1(self.mean + margin),
            significant=abs(self.mean) > margin,
            blocks=blocks,
        )
