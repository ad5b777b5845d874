"""A race: many configurations once, then repeats only for those that may still win.

The first part of the budget goes to configurations spread over the space. Then, round by round, each
configuration that is still in the race is measured once more; one drops out when the interval of its mean
lies below the best one's. The noise is that of the host, or what the repeats themselves show if that is more.
Maron and Moore, Hoeffding Races, NIPS 1993; López-Ibáñez and others, The irace package, Operations Research
Perspectives 3, 2016.

Without any noise there is nothing to repeat: then the whole budget goes to different configurations.
"""

import math

import numpy as np
from scipy.special import ndtri
from trimtab_trials.configuration import Configuration

from trimtab_tuner.space import Space
from trimtab_tuner.strategies.base import BaseStrategy, Options, Proposal, Tally
from trimtab_tuner.strategies.pool import Pool

FIELD_SHARE = 0.6
CONFIDENCE = 0.9


class Race(BaseStrategy):
    """The strategy; see the module's docstring, and `strategies.base` for the contract."""

    def __init__(self, space: Space, options: Options) -> None:
        super().__init__(space, options)
        pool = Pool(space, options.seed)
        order = np.random.default_rng(options.seed).permutation(len(pool.spread))
        self._order = [pool.configuration_of(pool.spread, int(i)) for i in order]
        self._quantile = float(ndtri((1 + CONFIDENCE) / 2))

    @property
    def _field(self) -> int:
        """How many configurations take part."""
        share = FIELD_SHARE if self.options.noise > 0 else 1.0
        return max(2, round(share * self.options.budget_trials))

    def _propose(self) -> Proposal | None:
        if self.tried < self._field:
            configuration = self._next_starter()
            if configuration is not None:
                return Proposal(configuration=configuration, level=1, reason="One of the field.")
        return self._repeat()

    def _next_starter(self) -> Configuration | None:
        return next((c for c in self._order if not self.knows(c) and self.space.allows(c)), None)

    def _repeat(self) -> Proposal | None:
        """One more trial of the configuration still in the race that was measured least."""
        verified = self.verified()
        if not self.options.noise or not verified:
            return None
        best = max(verified, key=lambda tally: tally.mean)
        noise = max(self.options.noise, self._own_noise(verified))
        racing = [t for t in verified if t is best or self._may_win(t, best, noise)]
        if len(racing) < 2:
            return None
        waiting = [self.key(c) for c in self.in_flight()]
        least = min(racing, key=lambda t: (len(t.scores) + waiting.count(self.key(t.configuration)), -t.mean))
        return Proposal(configuration=least.configuration, level=2, reason="Still in the race.", repeat=True)

    def _may_win(self, tally: Tally, best: Tally, noise: float) -> bool:
        error = noise * math.sqrt(1 / len(tally.scores) + 1 / len(best.scores))
        return tally.mean * (1 + self._quantile * error) >= best.mean

    def _own_noise(self, tallies: list[Tally]) -> float:
        """The relative standard deviation within configurations, 0 if none was repeated often enough."""
        squares, freedom = 0.0, 0
        for tally in tallies:
            if len(tally.scores) > 1 and tally.mean > 0:
                squares += sum((score / tally.mean - 1) ** 2 for score in tally.scores)
                freedom += len(tally.scores) - 1
        return math.sqrt(squares / freedom) if freedom >= 5 else 0.0
