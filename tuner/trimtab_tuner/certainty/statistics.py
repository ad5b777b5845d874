"""How sure a result is: gains with intervals, and where one more score is expected."""

import math
from collections.abc import Sequence

import numpy as np
from pydantic import ConfigDict, computed_field

from trimtab_tuner.certainty.student_t import t_quantile
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.wording import in_change, in_confidence

UNKNOWN = "unknown (the repeats differ too much)"
"""What is said of a gain whose interval is so wide that it says nothing."""


class Gain(Frozen):
    """How much better one configuration is than another, as a share (0.234 = 23.4 % better).

    `low` and `high` bound the interval of `confidence`; they are None when fewer than two blocks hold both
    scores, and then nothing is significant. `high` alone is None where the gain may be any more: it is at
    least what it says. `blocks` is the number of blocks used.
    """

    gain: float
    low: float | None
    high: float | None
    significant: bool
    blocks: int
    confidence: float = 0.95

    # What is recorded holds what is computed too.
    model_config = ConfigDict(extra="ignore")

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated properties
    @property
    def says_nothing(self) -> bool:
        """Whether its interval is so wide that no figure of it is to be told."""
        return not self.significant and says_nothing(self.gain, self.low, self.high)

    def __str__(self) -> str:
        """How every gain is told, wherever it is: `+23 % (95 % interval +20 % to +27 %)`.

        No figure of one that says nothing.
        """
        text = in_change(self.gain)
        if self.low is None:
            return f"{text} (too few repeats for an interval)"
        if self.says_nothing:
            return UNKNOWN
        bounds = f"from {in_change(self.low)}"
        if self.high is not None:
            bounds = f"{in_change(self.low)} to {in_change(self.high)}"
        return f"{text} ({in_confidence(self.confidence)} interval {bounds})"

    def told(self, *, at_least: bool = False) -> str:
        """The gain as it is told where it may be more."""
        return f"{'at least ' * (at_least and not self.says_nothing)}{self}"

    def in_short(self, *, at_least: bool = False) -> str:
        """The gain alone, for a cell whose interval stands elsewhere."""
        return "unknown" if self.says_nothing else f"{'at least ' * at_least}{in_change(self.gain)}"


def says_nothing(gain: float, low: float | None, high: float | None) -> bool:
    """Whether the interval of a gain (all are shares) is so wide that no figure of it is to be told: it holds
    0, so that it does not even show a gain, and is wider than the ratio in its middle.

    Without an upper end that is taken to be as many times away as the lower one. What has no interval at all
    is not told by this rule.
    """
    if low is None or low > 0 or (high is not None and high < 0):
        return False
    if low <= -1:  # to the last digit
        return True
    middle = 1 + gain
    return _too_wide(1 + low, middle**2 / (1 + low) if high is None else 1 + high, middle)


def paired_gain(
    default: Sequence[float | None], other: Sequence[float | None], *, confidence: float = 0.95
) -> Gain | None:
    """The gain of `other` over `default`, from scores paired by block (same index, same block).

    Within a block both were measured close together, so drift of the machine cancels in their ratio. The
    logarithms of the ratios get a t interval; a gain is significant when that interval leaves out 0. A block
    in which either score is missing, or 0 (which has no ratio), is left out. None if no block is left.

    Raises ValueError if the two sequences differ in length.
    """
    if len(default) != len(other):
        raise ValueError(f"{len(default)} default scores against {len(other)}: expected one pair per block")
    ratios = np.array([math.log(b / a) for a, b in zip(default, other, strict=True) if a and b])
    if ratios.size == 0:
        return None
    mean = float(ratios.mean())
    if ratios.size == 1:
        return Gain(
            gain=math.expm1(mean), low=None, high=None, significant=False, blocks=1, confidence=confidence
        )
    error = float(ratios.std(ddof=1)) / math.sqrt(ratios.size)
    margin = t_quantile(ratios.size - 1, (1 + confidence) / 2) * error
    return Gain(
        gain=math.expm1(mean),
        low=math.expm1(mean - margin),
        high=math.expm1(mean + margin),
        significant=abs(mean) > margin,
        blocks=int(ratios.size),
        confidence=confidence,
    )


def prediction_interval(
    scores: Sequence[float], *, beside: float | None = None, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Where one more score of the same kind is expected, by the t interval of the scores' logarithms.

    With `beside`, a score that was measured next to the one expected, the interval lies round that one: what
    has changed since the others were measured then cancels. None where the interval would be wider than the
    score in its middle, as that of two scores easily is, and with fewer than two scores greater than 0: they
    say nothing about a spread.
    """
    logs = np.log([score for score in scores if score > 0])
    if logs.size < 2:
        return None
    middle, weight = (float(logs.mean()), 1 / logs.size) if beside is None else (math.log(beside), 1.0)
    spread = float(logs.std(ddof=1)) * math.sqrt(1 + weight)
    margin = t_quantile(logs.size - 1, (1 + confidence) / 2) * spread
    low, high = math.exp(middle - margin), math.exp(middle + margin)
    return None if _too_wide(low, high, math.exp(middle)) else (low, high)


def _too_wide(low: float, high: float, middle: float) -> bool:
    """Whether an interval is wider than what lies in its middle, so that it tells nothing of it."""
    return high - low > middle
