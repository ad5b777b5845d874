"""Uniformly random configurations: on each knob's scale, without a repeat. What every search must beat.

Bergstra and Bengio, Random Search for Hyper-Parameter Optimization, JMLR 13, 2012.
"""

import itertools

import numpy as np

from trimtab_tuner.space import Space
from trimtab_tuner.strategies.base import BaseStrategy, Options, Proposal
from trimtab_tuner.strategies.pool import Pool

TRIES = 200


class RandomSearch(BaseStrategy):
    """The strategy; see `strategies.base` for the contract."""

    def __init__(self, space: Space, options: Options) -> None:
        super().__init__(space, options)
        self._pool = Pool(space, options.seed)

    def expected_trials(self) -> int:
        """The budget, or fewer if the space has fewer configurations."""
        every = self.options.budget_trials if self._pool.every is None else len(self._pool.every) + 1
        return self.told if self._over else max(min(self.options.budget_trials, every), self.told)

    def _propose(self) -> Proposal | None:
        generator = np.random.default_rng((self.options.seed, self.spent))
        if self._pool.every is not None:
            left = [c for c in self._pool.every if not self.knows(c)]
            drawn = [left[int(generator.integers(len(left)))]] if left else []
        else:
            draws = (self._pool.draw(generator) for _ in range(TRIES))
            new = (c for c in draws if not self.knows(c) and self.space.allows(c))
            drawn = list(itertools.islice(new, 1))
        return Proposal(configuration=drawn[0], level=1, reason="Chosen at random.") if drawn else None
