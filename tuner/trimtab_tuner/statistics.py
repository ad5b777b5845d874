"""How sure a result is: gains with intervals, and groups of results that cannot be told apart."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from trimtab_tuner.frozen import Frozen

Samples = NDArray[np.float64]


class Gain(Frozen):
    """How much better one configuration is than another, as a share (0.234 = 23.4 % better).

    `low` and `high` bound the interval of `confidence`; they are None when fewer than two blocks hold both
    scores, and then nothing is significant. `blocks` is the number of blocks used.
    """

    gain: float
    low: float | None
    high: float | None
    significant: bool
    blocks: int
    confidence: float = 0.95

    def __str__(self) -> str:
        """For instance `+23.4 % (95 % interval +20.1 to +26.8 %)`."""
        text = f"{self.gain * 100:+.1f} %"
        if self.low is None or self.high is None or self._says_nothing:
            return f"{text} (too few repeats for an interval)"
        bounds = f"{self.low * 100:+.1f} to {self.high * 100:+.1f} %"
        return f"{text} ({self.confidence * 100:.3g} % interval {bounds})"

    @property
    def _says_nothing(self) -> bool:
        """Whether the interval neither shows a gain nor narrows it down."""
        low, high = self.low or 0.0, self.high or 0.0
        return not self.significant and _too_wide(1 + low, 1 + high, 1 + self.gain)


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
    margin = float(special.stdtrit(ratios.size - 1, (1 + confidence) / 2)) * error
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
    margin = float(special.stdtrit(logs.size - 1, (1 + confidence) / 2)) * spread
    low, high = math.exp(middle - margin), math.exp(middle + margin)
    return None if _too_wide(low, high, math.exp(middle)) else (low, high)


def _too_wide(low: float, high: float, middle: float) -> bool:
    """Whether an interval is wider than what lies in its middle, so that it tells nothing of it."""
    return high - low > middle


class RankGroup(Frozen):
    """Results that share a rank: none differs significantly from the group's best, which comes first."""

    rank: int
    members: tuple[str, ...]


def tukey_groups(samples: Mapping[str, Sequence[float]], alpha: float = 0.05) -> tuple[RankGroup, ...]:
    """Rank named samples by mean, those that Tukey's HSD cannot tell apart sharing a rank.

    Where the samples' variances differ (Brown and Forsythe's test at 5 %), Games and Howell's test takes its
    place, which does not assume them equal; it needs at least three values in each.

    The best mean opens group 1, which takes in every sample not significantly different from it; the best of
    the rest opens the next group, whose rank is one more than the number of samples before it. Samples with
    fewer than two values cannot be tested and are left out.
    """
    usable = {name: np.asarray(values, dtype=float) for name, values in samples.items() if len(values) >= 2}
    if not usable:
        return ()
    names = sorted(usable, key=lambda name: (-usable[name].mean(), name))
    p_values = _pairwise_p(tuple(usable[name] for name in names))
    groups: list[RankGroup] = []
    left = list(range(len(names)))
    while left:
        lead = left[0]
        members = [i for i in left if i == lead or p_values[lead, i] >= alpha]
        rank = len(names) - len(left) + 1
        groups.append(RankGroup(rank=rank, members=tuple(names[i] for i in members)))
        left = [i for i in left if i not in members]
    return tuple(groups)


def _pairwise_p(samples: tuple[Samples, ...]) -> Samples:
    """Matrix of Tukey HSD p-values; without any variance, equal means are alike and others are not."""
    if len(samples) == 1:
        p_values: Samples = np.ones((1, 1))
    elif all(np.ptp(sample) == 0 for sample in samples):
        means = np.array([sample[0] for sample in samples])
        p_values = np.equal.outer(means, means).astype(np.float64)
    else:
        from scipy import stats  # takes a second to load, which most commands need not pay

        tested = stats.tukey_hsd(*samples, equal_var=not _variances_differ(samples))
        p_values = np.asarray(tested.pvalue, dtype=np.float64)
    return p_values


def _variances_differ(samples: tuple[Samples, ...]) -> bool:
    """Whether Brown and Forsythe's test says so; never with fewer than three values or without variance."""
    from scipy import stats

    if any(len(sample) < 3 or np.ptp(sample) == 0 for sample in samples):
        return False
    return bool(stats.levene(*samples, center="median").pvalue < 0.05)
