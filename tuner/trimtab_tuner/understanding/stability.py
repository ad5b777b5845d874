"""How flat the optimum is: what share of the measured neighbourhood of the best stays within 2 % of it.

The seeds' thesis calls a configuration stable when the area levels off round it (section 3.7). A flat optimum
forgives a workload or a machine that differs a little from the measured one; a sharp one does not.
"""

from collections.abc import Sequence
from typing import Literal

from trimtab_trials.configuration import Configuration
from trimtab_trials.trial import Trial

from trimtab_tuner.frozen import Frozen
from trimtab_tuner.space import Knob, Space

WITHIN = 0.02
NEIGHBOUR = 0.26  # of each knob's scale: one step of a grid of five values
FEWEST_NEIGHBOURS = 3
MOST_LISTED = 50
FLAT_SHARE = 0.6

Kind = Literal["flat", "sharp", "unknown"]


class Neighbour(Frozen):
    """A measured configuration near the best: its score as a share of the best's, None if it failed."""

    configuration: Configuration
    relative_score: float | None


class Stability(Frozen):
    """Of what was measured near the best, `within` configurations are within 2 % of it.

    `neighbours` are those that differ in the fewest knobs, at most `MOST_LISTED`. `kind` is `unknown` where
    fewer than three were measured.
    """

    kind: Kind
    neighbours: tuple[Neighbour, ...]
    within: int
    sentence: str


def stability(space: Space, results: Sequence[Trial], best: Configuration) -> Stability:
    """The stability of a configuration, by the trials measured near it."""
    own = [r.score for r in results if r.configuration == best and r.score is not None]
    free = space.free
    near: dict[tuple[object, ...], list[Trial]] = {}
    for result in results:
        if result.configuration != best and _is_neighbour(free, result.configuration, best):
            near.setdefault(tuple(result.configuration.values()), []).append(result)
    if not own:
        return Stability(
            kind="unknown", neighbours=(), within=0, sentence="The best has no score of its own."
        )
    score = sum(own) / len(own)
    neighbours = []
    for repeats in near.values():
        verified = [r.known_score for r in repeats if r.known_score is not None]
        failed = len(verified) < len(repeats)
        relative = None if failed or score <= 0 else sum(verified) / len(verified) / score
        neighbours.append(Neighbour(configuration=repeats[0].configuration, relative_score=relative))
    within = sum(n.relative_score is not None and n.relative_score >= 1 - WITHIN for n in neighbours)
    count = len(neighbours)
    nearest = sorted(neighbours, key=lambda n: _knobs_apart(n.configuration, best))[:MOST_LISTED]
    if count < FEWEST_NEIGHBOURS:
        return Stability(
            kind="unknown",
            neighbours=tuple(nearest),
            within=within,
            sentence=f"Configurations measured near the best: only {count}. Its stability is not known.",
        )
    flat = within >= FLAT_SHARE * count
    judgement = "the optimum is flat" if flat else "the optimum is sharp: keep to its values"
    return Stability(
        kind="flat" if flat else "sharp",
        neighbours=tuple(nearest),
        within=within,
        sentence=(
            f"{within} of {count} measured neighbours stay within {WITHIN:.0%} of the best: {judgement}."
        ),
    )


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
