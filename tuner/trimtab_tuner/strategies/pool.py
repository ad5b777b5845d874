"""The configurations that a strategy chooses from, as points.

A point is one row of numbers, one per free knob: the position on the knob's scale (0 to 1), or for a category
the index of the choice. `coordinates` turns points into the rows that distances are taken between, where each
category has a column of its own. Everything is an array, so that a strategy can judge a thousand candidates
in a few milliseconds.

A space of at most `EVERY_LIMIT` configurations is listed whole. Of a larger one a search sees `SPREAD` points
spread over it by a scrambled Sobol sequence, and at each ask `NEAR` more round the best so far.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from trimtab_trials.configuration import Configuration

from trimtab_tuner.space import Space

EVERY_LIMIT = 2000
SPREAD = 256
NEAR = 512
END_SHARE = 0.1
# Two categories are as far apart as values half a range (times the square root of 2) apart.
CATEGORY_SPAN = 0.5

Points = NDArray[np.float64]


class Pool:
    """The candidates of one search."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._seed = seed
        self._knobs = space.free
        self._default = space.default()
        self.categorical = np.array([knob.kind == "categorical" for knob in self._knobs])
        self._counts = np.array([knob.count for knob in self._knobs])
        # The knob that each column of `coordinates` belongs to.
        widths = [len(knob.choices) if knob.kind == "categorical" else 1 for knob in self._knobs]
        self.owners = np.repeat(np.arange(len(self._knobs)), widths)
        choices = [range(len(k.choices)) if k.kind == "categorical" else [-1] for k in self._knobs]
        self._categories = np.array([choice for each in choices for choice in each])
        every = space.every(EVERY_LIMIT)
        self.every: list[Configuration] | None = None if every is None else list(every)
        self.spread = self._sobol() if self.every is None else self.points(self.every)

    def points(self, configurations: Sequence[Configuration]) -> Points:
        """One row per configuration."""
        rows = [
            [
                float(knob.choices.index(configuration[knob.name]))
                if knob.kind == "categorical" and configuration[knob.name] in knob.choices
                else knob.position(configuration[knob.name])
                for knob in self._knobs
            ]
            for configuration in configurations
        ]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(self._knobs))

    def coordinates(self, points: Points, scale: Points | None = None) -> Points:
        """The rows that distances are taken between; `scale` divides the columns of each knob."""
        owned = points[:, self.owners]
        rows = np.where(self._categories < 0, owned, CATEGORY_SPAN * (owned == self._categories))
        return rows if scale is None else rows / scale[self.owners]

    def candidates(self, around: Points, step: int) -> Points:
        """The points to choose from at a step of the search: all, or the spread and some near `around`.

        `around` has the points worth searching near, the best first. The same step gives the same points.
        """
        if self.every is not None or not len(around):
            return self.spread
        generator = np.random.default_rng((self._seed, step))
        near = around[generator.integers(0, len(around), NEAR)]
        # A move changes few knobs, a little or a lot, or to an end of their ranges.
        moved = generator.random(near.shape) < generator.choice([1.0, 2.0, 4.0], (NEAR, 1)) / near.shape[1]
        width = generator.choice([0.03, 0.1, 0.3], (NEAR, 1))
        shifted = np.clip(near + generator.normal(size=near.shape) * width, 0.0, 1.0)
        ends = generator.random(near.shape) < END_SHARE
        shifted = np.where(ends, np.round(shifted), shifted)
        redrawn = np.floor(generator.random(near.shape) * self._counts)
        near = np.where(moved, np.where(self.categorical, redrawn, shifted), near)
        return np.vstack([self.spread, near])

    def configuration(self, point: Points) -> Configuration:
        """The configuration at a point: values rounded as the knobs round them, conditions settled."""
        values = {
            knob.name: knob.choices[int(value)] if knob.kind == "categorical" else knob.at(float(value))
            for knob, value in zip(self._knobs, point, strict=True)
        }
        return self._space.settled({**self._default, **values})

    def configuration_of(self, candidates: Points, index: int) -> Configuration:
        """The configuration of a row of `candidates`."""
        return self.configuration(candidates[index]) if self.every is None else self.every[index]

    def some(self, generator: np.random.Generator, count: int) -> list[Configuration]:
        """So many configurations drawn at random."""
        if self.every is not None:
            return [self.every[int(i)] for i in generator.integers(0, len(self.every), count)]
        return [self.draw(generator) for _ in range(count)]

    def draw(self, generator: np.random.Generator) -> Configuration:
        """A random configuration, uniform on each knob's scale; it may break a constraint between knobs."""
        point = generator.random(len(self._knobs))
        return self.configuration(np.where(self.categorical, np.floor(point * self._counts), point))

    def nearest(self, configuration: Configuration) -> list[Configuration]:
        """Of a listed space all configurations, the nearest to the given one first; else that one alone."""
        if self.every is None:
            return [configuration]
        at = self.coordinates(self.points([configuration]))
        distances = np.linalg.norm(self.coordinates(self.spread) - at, axis=1)
        return [self.every[i] for i in np.argsort(distances, kind="stable")]

    def _sobol(self) -> Points:
        from scipy.stats import qmc  # takes a second to load, which most commands need not pay

        spread = qmc.Sobol(len(self._knobs), rng=self._seed).random(SPREAD)
        points = np.where(self.categorical, np.floor(spread * self._counts), spread)
        return (
            self.points([self.configuration(point) for point in points])
            if self._space.constraints
            else points
        )
