"""Spaces of ten and more mixed knobs whose optimum is known, for benchmarks of strategies.

A score is 1 at the optimum and falls with each knob's distance from its best value by a weight of its own: a
few knobs matter, most hardly do, as on servers. Pairs of knobs interact (one's best value moves with the
other), and a corner of each space fails verification.
"""

import math
from dataclasses import dataclass

import numpy as np
from trimtab_trials.configuration import Configuration
from trimtab_tuner.space import Knob, Space

INTEGERS, ORDINALS, CATEGORIES = 6, 2, 3
CHOICES = ("a", "b", "c")


@dataclass(frozen=True)
class SyntheticSpace:
    """A space with its optimum (positions, or a category's index), weights, and the pairs that interact."""

    space: Space
    best: tuple[float, ...]
    weights: tuple[float, ...]
    pairs: tuple[tuple[int, int, float], ...]
    failing_sum: float

    @property
    def knobs(self) -> int:
        """How many knobs there are."""
        return len(self.space.knobs)

    def score(self, configuration: Configuration) -> float | None:
        """The score, at most 1; None in the corner that fails."""
        at = [knob.position(configuration[knob.name]) for knob in self.space.knobs]
        if at[0] + at[1] > self.failing_sum:
            return None
        off = []
        for i, knob in enumerate(self.space.knobs):
            if knob.kind == "categorical":
                off.append(0.0 if configuration[knob.name] == CHOICES[int(self.best[i])] else 0.5)
            else:
                off.append(at[i] - self.best[i])
        for one, two, slope in self.pairs:
            off[one] += slope * off[two]
        return math.exp(-sum(w * o * o for w, o in zip(self.weights, off, strict=True)))


def synthetic_spaces() -> list[SyntheticSpace]:
    """Four spaces of 11 to 14 knobs."""
    return [_space(seed, extra) for seed, extra in enumerate((0, 1, 2, 3))]


def _space(seed: int, extra: int) -> SyntheticSpace:
    generator = np.random.default_rng(seed)
    knobs = [
        Knob(name=f"integer_{i}", kind="integer", scale="log", low=1, high=4096, default=64, help="Integer.")
        for i in range(INTEGERS + extra)
    ]
    knobs += [
        Knob(
            name=f"ordinal_{i}",
            kind="ordinal",
            choices=tuple(2**j for j in range(8)),
            default=8,
            help="Ordinal.",
        )
        for i in range(ORDINALS)
    ]
    knobs += [
        Knob(name=f"category_{i}", kind="categorical", choices=CHOICES, default="a", help="Category.")
        for i in range(CATEGORIES)
    ]
    best = [
        float(generator.integers(len(CHOICES)))
        if knob.kind == "categorical"
        else round(7 * float(generator.uniform(0.15, 0.85))) / 7
        for knob in knobs
    ]
    weights = 2.0 * np.sort(generator.exponential(size=len(knobs)))[::-1] / 2.0
    order = generator.permutation(len(knobs))
    numeric = [i for i, knob in enumerate(knobs) if knob.kind != "categorical"]
    pairs = tuple((int(a), int(b), 0.7) for a, b in generator.permutation(numeric)[:4].reshape(2, 2))
    return SyntheticSpace(
        space=Space(knobs=tuple(knobs)),
        best=tuple(best),
        weights=tuple(float(w) for w in weights[order]),
        pairs=pairs,
        failing_sum=best[0] + best[1] + 0.35,
    )
