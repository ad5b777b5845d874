"""The full cross product of a grid, in the order of its values: the thesis' first round without its second.

Each knob gets as many values as `coarse_grid` says, else `GRID_VALUES`. If the product is more than the
budget, the knob with most values loses one until it fits, so that what is tried still covers the whole space
evenly. A space that is listed as single configurations is gone through at even distances.
"""

import itertools
import math

import numpy as np
from trimtab_trials.configuration import Configuration

from trimtab_tuner.space import ListedSpace, Space
from trimtab_tuner.strategies.base import BaseStrategy, Options, Proposal

GRID_VALUES = 8


class Grid(BaseStrategy):
    """The strategy; see the module's docstring, and `strategies.base` for the contract."""

    def __init__(self, space: Space, options: Options) -> None:
        super().__init__(space, options)
        self._points = self._fitting()

    def adjust(self, *, noise: float, budget_trials: int) -> None:
        """Another budget is another grid."""
        changed = budget_trials != self.options.budget_trials
        super().adjust(noise=noise, budget_trials=budget_trials)
        if changed:
            self._points = self._fitting()

    def expected_trials(self) -> int:
        """As many as the grid has points."""
        left = sum(not self.knows(point) for point in self._points) + (not self.knows(self.default))
        return self.told if self._over else max(min(self.options.budget_trials, self.spent + left), self.told)

    def _propose(self) -> Proposal | None:
        for point in self._points:
            if not self.knows(point):
                return Proposal(configuration=point, level=1, reason="Next point of the grid.")
        return None

    def _fitting(self) -> list[Configuration]:
        """The points that fit the budget."""
        return self._listed() if isinstance(self.space, ListedSpace) else self._product()

    def _listed(self) -> list[Configuration]:
        every = list(self.space.every(10**9) or ())
        every.sort(key=lambda c: [knob.position(c[knob.name]) for knob in self.space.free])
        chosen = (
            np.linspace(0, len(every) - 1, min(self.options.budget_trials, len(every))).round().astype(int)
        )
        return [every[i] for i in chosen]

    def _product(self) -> list[Configuration]:
        free = self.space.free
        sizes = [min(knob.of(self.options.coarse_grid) or GRID_VALUES, knob.count) for knob in free]
        while math.prod(sizes) > self.options.budget_trials and max(sizes) > 1:
            sizes[sizes.index(max(sizes))] -= 1
        values = [knob.grid(size)[:size] for knob, size in zip(free, sizes, strict=True)]
        names = [knob.name for knob in free]
        points = ({**self.default, **dict(zip(names, v, strict=True))} for v in itertools.product(*values))
        settled = {self.key(point): point for point in map(self.space.settled, points)}
        return [point for point in settled.values() if self.space.allows(point)]
