"""How flat the optimum is: what share of the measured neighbourhood of the best stays within 2 % of it.

The seeds' thesis calls a configuration stable when the area levels off round it (section 3.7). A flat optimum
forgives a workload or a machine that differs a little from the measured one; a sharp one does not.

Neighbours are mostly measured once, and differ by the noise of trials where nothing else makes them differ.
So one is said to lose more than 2 % only if it does so beyond that noise (with 95 % confidence), an optimum
is sharp if more than two fifths of the neighbours do, and the mean of the others must show on which side of
2 % they lie. Where it does not, nothing is said.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial, Verdict

from trimtab_tuner.certainty.luck import expected_score
from trimtab_tuner.frozen import Frozen
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.wording import in_percent

WITHIN = 0.02
NEIGHBOUR = 0.26  # of each knob's scale: one step of a grid of five values
FEWEST_NEIGHBOURS = 3
MOST_LISTED = 50
FLAT_SHARE = 0.6
LOSS = math.log(1 - WITHIN)
SURE = 1.645  # standard errors: 95 % to one side

# A lower bound says nothing of how much is lost a step away.
SAYS_NOTHING = (Verdict.DISTURBED, Verdict.GENERATOR_LIMITED)

Kind = Literal["flat", "sharp", "unknown"]


class Neighbour(Frozen):
    """A measured configuration near the best: its score as a share of the best's, None if it failed."""

    configuration: Configuration
    relative_score: float | None


class Stability(Frozen):
    """Of what was measured near the best, `within` configurations are not seen to lose more than 2 %.

    `neighbours` are those that differ in the fewest knobs, at most `MOST_LISTED`. `kind` is `unknown` where
    fewer than three were measured, or where the noise does not let it be told.
    """

    kind: Kind
    neighbours: tuple[Neighbour, ...]
    within: int
    sentence: str


@dataclass(frozen=True)
class _Level:
    """The logarithm of a score, and the variance of its error."""

    log: float
    variance: float


def stability(
    space: Space,
    searched: Sequence[Trial],
    best: Configuration,
    *,
    noise: float,
    confirmed: Sequence[Trial] = (),
) -> Stability:
    """The stability of a configuration, by the trials that the search measured near it (drift taken out).

    `noise` is the relative standard deviation of one trial; `confirmed` are those of the confirmation's
    blocks, which know the best's own score better than the search that chose it.
    """
    own = _own_level(space.default(), searched, best, noise, confirmed)
    if own is None:
        return Stability(
            kind="unknown", neighbours=(), within=0, sentence="The best has no score of its own."
        )
    neighbours, lost, others = [], 0, []
    for repeats in _near(space.free, searched, best):
        logs = [math.log(score) for trial in repeats if (score := trial.known_score)]
        level = _Level(fmean(logs), noise**2 / len(logs)) if len(logs) == len(repeats) else None
        relative = None if level is None else math.exp(level.log - own.log)
        neighbours.append(Neighbour(configuration=repeats[0].configuration, relative_score=relative))
        if level is None or level.log - own.log < LOSS - SURE * math.sqrt(level.variance + own.variance):
            lost += 1
        else:
            others.append(level)
    nearest = sorted(neighbours, key=lambda n: _knobs_apart(n.configuration, best))[:MOST_LISTED]
    kind, sentence = _judged(own, others, lost, noise)
    return Stability(kind=kind, neighbours=tuple(nearest), within=len(others), sentence=sentence)


def _judged(own: _Level, others: Sequence[_Level], lost: int, noise: float) -> tuple[Kind, str]:
    """The kind of a neighbourhood of which `lost` clearly lose more than 2 %, and the `others` do not."""
    count = lost + len(others)
    if count < FEWEST_NEIGHBOURS:
        return (
            "unknown",
            f"Configurations measured near the best: {count or 'none'}. Its stability is not known.",
        )
    told = (
        f"{len(others)} of {count} measured neighbours stay within {in_percent(WITHIN)} of the best, "
        f"as far as can be told at a noise of {in_percent(noise, 1)}"
    )
    sharp = "the optimum is sharp: keep to its values."
    if lost > (1 - FLAT_SHARE) * count:
        return "sharp", f"{told}: {sharp}"
    # Each alone is lost in the noise; their mean is less so.
    mean = fmean(level.log for level in others) - own.log
    margin = SURE * math.sqrt(fmean(level.variance for level in others) / len(others) + own.variance)
    if mean - margin >= LOSS:
        return "flat", f"{told}: the optimum is flat."
    if mean + margin < LOSS:
        return "sharp", f"{told}, but on average these lose {in_percent(-math.expm1(mean), 1)}: {sharp}"
    return "unknown", f"{told}, which is not enough to tell a flat optimum from a sharp one."


def _own_level(
    default: Configuration,
    searched: Sequence[Trial],
    best: Configuration,
    noise: float,
    confirmed: Sequence[Trial],
) -> _Level | None:
    """The best's level among the scores of the search; None if it has none.

    Its own score there is the luckiest of many. Where it was confirmed, it lies as far from the default's
    level in the search as it did in the blocks; else it is what is expected of it.
    """
    reference = [math.log(t.score) for t in searched if t.configuration == default and t.score]
    of_default, of_best = (
        {t.block: math.log(t.score) for t in confirmed if t.configuration == one and t.score}
        for one in (default, best)
    )
    ratios = [of_best[block] - of_default[block] for block in of_best.keys() & of_default.keys()]
    if reference and best == default:
        return _Level(fmean(reference), noise**2 / len(reference))
    if reference and ratios:
        variance = noise**2 * (1 / len(reference) + 2 / len(ratios))
        return _Level(fmean(reference) + fmean(ratios), variance)
    expected = expected_score(searched, best, noise)
    own = sum(trial.configuration == best and bool(trial.score) for trial in searched)
    return None if expected is None else _Level(math.log(expected), noise**2 / own)


def _near(free: Sequence[Knob], searched: Sequence[Trial], best: Configuration) -> Iterable[list[Trial]]:
    """The trials of each neighbour of the best that say something of it."""
    near: dict[str, list[Trial]] = {}
    for trial in searched:
        if trial.verdict in SAYS_NOTHING or trial.configuration == best:
            continue
        if _is_neighbour(free, trial.configuration, best):
            near.setdefault(trial.configuration_hash, []).append(trial)
    return near.values()


def _is_neighbour(free: Sequence[Knob], configuration: Configuration, best: Configuration) -> bool:
    """Whether it is within a step of the best in every ordered knob, and equal in every category."""
    for knob in free:
        a, b = configuration.get(knob.name), best.get(knob.name)
        if a == b:
            continue
        if knob.kind == "categorical" or a is None or b is None:
            return False
        if abs(knob.position(a) - knob.position(b)) > NEIGHBOUR:
            return False
    return True


def _knobs_apart(one: Configuration, other: Configuration) -> int:
    return sum(one.get(name) != value for name, value in other.items())
