"""The default: search where a model expects the good window, then race the leaders.

DESIGN. The model is in `surrogate.py`: what a configuration would score and whether it would be verified,
from the trials told, from what is generally true of tuning ranges, and from earlier runs where there are any.

*Search.* The next configuration is the one most likely to beat the best so far by a margin, times the
probability that it is verified at all. As long as nothing has been verified, it is the one most likely to be
verified among those with the best expectation. The margin is small where trials are exact and knobs few;
otherwise it is a share of how far scores differ over the space, as a model that is sure of a small gain near
the best is often wrong. With many knobs the search begins with configurations far from each other, and goes
on to try one such after every few: categories that looked bad once are seen again in other company.

*Race.* Where trials are noisy (`Options.noise`), the best of many is also the luckiest. The last `RACE_SHARE`
of the budget is spent on repeats, each on the leader or on the configuration most likely to overtake it,
whichever of the two is known less well (top-two sampling: Russo, Simple Bayesian Algorithms for Best-Arm
Identification, Operations Research 68, 2020). When no other configuration may still win by more than the tie
tolerance, what is left of the budget goes back to searching.

The recommendation is the cheapest configuration whose expected score, which pools what its neighbours say, is
within the tie tolerance of the highest; on a noisy host within half of it, for expectations err too. One that
failed verification even once is never recommended. A configuration whose score is
only known to exceed that of all others (the load generator gave out first) is measured once more, and
recommended if that says no more.

After thousands of trials the model is not asked about all of them: which configuration leads, and which may
overtake it, is judged among the `MOST_JUDGED` verified ones with the highest means. The model itself learns
from no more than `surrogate.MOST_TRIALS` anyway.
"""

import heapq
import math
from collections.abc import Sequence

import numpy as np
from scipy.special import log_ndtr, ndtr
from trimtab_trials.trial import Trial

from trimtab_tuner.space import Space
from trimtab_tuner.strategies.base import BaseStrategy, Key, Options, Proposal, Tally
from trimtab_tuner.strategies.kernel import distances
from trimtab_tuner.strategies.past_runs import likeness
from trimtab_tuner.strategies.pool import Points, Pool
from trimtab_tuner.strategies.surrogate import Observations, Prediction, Surrogate, Vector

MARGIN = 0.01
MARGIN_SHARE = 0.4  # of how far scores differ over the space
FEW_KNOBS = 3
FIRST_SHARE = 0.25  # of the budget, but no more than `FIRST_MOST`
FIRST_MOST = 10
WIDE_EVERY = 5
WIDE_OF = 8
RACE_SHARE = 0.125
NEAR_BEST = 5
MOST_JUDGED = 512
STILL_POSSIBLE = 0.02
NOISY_TIES = 0.5


class SurrogateRace(BaseStrategy):
    """The strategy; see the module's docstring, and `strategies.base` for the contract."""

    def __init__(self, space: Space, options: Options) -> None:
        super().__init__(space, options)
        self._pool = Pool(space, options.seed)
        self._surrogate = Surrogate(
            space,
            self._pool,
            noise=options.noise,
            experience=options.experience,
            weights=likeness(options.experience, options.features),
        )
        self._points: dict[Key, Points] = {}
        self._rows: dict[Key, int] = {}
        self._told = self._nothing_told()
        self._changed: dict[Key, None] = {}  # in the order in which they were told; see `_taken_in`

    def adjust(self, *, noise: float, budget_trials: int) -> None:
        """Another noise is another model."""
        if noise != self.options.noise:
            self._surrogate.adjust(noise)
        super().adjust(noise=noise, budget_trials=budget_trials)

    def revise(self, results: Sequence[Trial]) -> None:
        """Begin the model anew with these results."""
        self._rows.clear()
        self._changed.clear()
        self._told = self._nothing_told()
        super().revise(results)

    def tell(self, result: Trial, *, answers: bool = True) -> None:
        """Take in a finished trial, asked for or not."""
        super().tell(result, answers=answers)
        key = self.key({**self.default, **result.configuration})
        tally = self.tallies[key]
        if tally.known is not None or tally.failures:
            self._changed.setdefault(key)

    def best(self) -> Trial | None:
        """The cheapest verified configuration expected to be within the tie tolerance of the best."""
        verified, unbeaten = self._contenders(), self.unbeaten()
        if unbeaten is not None:
            return self.as_result(unbeaten)
        if not verified:
            return None
        expected = self._expected(verified).mean
        tolerance = self.options.tie_tolerance * (NOISY_TIES if self.options.noise else 1.0)
        bar = expected.max() + np.log1p(-tolerance)
        ties = [tally for tally, mean in zip(verified, expected, strict=True) if mean >= bar]
        return self.as_result(self.cheapest(ties))

    @property
    def _search_trials(self) -> int:
        """What of the budget is for searching; the rest is for repeats."""
        budget_trials = self.options.budget_trials
        return budget_trials - (round(RACE_SHARE * budget_trials) if self.options.noise > 0 else 0)

    @property
    def _many_knobs(self) -> bool:
        """Whether there are too many knobs for a model to see everywhere."""
        return len(self.space.free) > FEW_KNOBS

    def _contenders(self) -> list[Tally]:
        """The verified configurations of which one may be the best."""
        verified = self.verified()
        if len(verified) <= MOST_JUDGED:
            return verified
        return heapq.nlargest(MOST_JUDGED, verified, key=lambda tally: tally.mean)

    def _nothing_told(self) -> Observations:
        return Observations(
            np.zeros((0, len(self.space.free))), np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool)
        )

    def _propose(self) -> Proposal | None:
        unbeaten = self.unbeaten()
        if (
            unbeaten is not None
            and unbeaten.limited == 1
            and self.key(unbeaten.configuration) not in self._in_flight
        ):
            return Proposal(
                configuration=unbeaten.configuration,
                level=2,
                reason="The load generator gave out before the server did.",
                repeat=True,
            )
        if self.spent >= self._search_trials:
            return self._race() or self._search()
        return self._search() or self._race()

    def _search(self) -> Proposal | None:
        """The most promising configuration not tried yet."""
        if self._wide_is_due() and (wide := self._wide()) is not None:
            return wide
        seen = self._observations()
        leaders = heapq.nlargest(NEAR_BEST, self.verified(), key=lambda tally: tally.mean)
        around = self._pool.points([tally.configuration for tally in leaders])
        candidates = self._pool.candidates(around, self.spent)
        if not len(candidates):
            return None  # the constraints allow nothing
        predicted, leading = self._surrogate.predict(seen, np.vstack([candidates, around])).split(
            len(candidates)
        )
        worth = self._worth(predicted, leaders, leading)
        worth += 1e-6 * np.random.default_rng((self.options.seed, self.spent)).random(len(worth))
        for index in np.argsort(-worth, kind="stable"):
            configuration = self._pool.configuration_of(candidates, int(index))
            if not self.knows(configuration) and self.space.allows(configuration):
                chance = round(100 * float(predicted.verified[index]))
                return Proposal(
                    configuration=configuration,
                    level=1,
                    reason=f"Expected to gain most; {chance} % likely to be verified.",
                )
        return None

    def _wide_is_due(self) -> bool:
        """Whether it is the turn of exploring: at first, and then every few configurations without an end."""
        tried, first = self.tried, min(FIRST_SHARE * self._search_trials, FIRST_MOST)
        return self._many_knobs and tried > 0 and (tried <= first or tried % WIDE_EVERY == 0)

    def _wide(self) -> Proposal | None:
        """Of some random configurations the one farthest from all that are known."""
        generator = np.random.default_rng((self.options.seed, self.spent, 1))
        drawn = self._pool.some(generator, WIDE_OF)
        told = self._taken_in().points
        others = [self._point(key) for key in (self.tallies.keys() | self._asked) - self._rows.keys()]
        known = self._pool.coordinates(np.vstack([told, *others]))
        away = distances(self._pool.coordinates(self._pool.points(drawn)), known).min(axis=1)
        for index in np.argsort(-away, kind="stable"):
            if not self.knows(drawn[index]) and self.space.allows(drawn[index]):
                return Proposal(
                    configuration=drawn[index], level=1, reason="Far from everything tried so far."
                )
        return None

    def _worth(self, predicted: Prediction, leaders: list[Tally], leading: Prediction) -> Vector:
        """The logarithm of what trying each candidate is worth; `leading` has what `leaders` should score."""
        if not leaders:
            bar = predicted.mean.max() - 2 * MARGIN  # nothing to beat yet: be among the most promising
        elif self.options.noise:
            bar = leading.mean.max()
        else:
            bar = _log(leaders[0].mean)
        margin = math.log1p(MARGIN)
        if self.options.noise or self._many_knobs:
            margin = max(margin, MARGIN_SHARE * predicted.scale)
        gain = log_ndtr((predicted.mean - bar - margin) / predicted.deviation)
        worth: Vector = gain + np.log(np.maximum(predicted.verified, 1e-12))
        return worth

    def _race(self) -> Proposal | None:
        """A repeat of the leader or of its closest rival; None when none may still win."""
        verified = self._contenders()
        if not self.options.noise or not verified:
            return None
        expected = self._expected(verified)
        leader = int(expected.mean.argmax())
        apart = expected.mean[leader] + np.log1p(-self.options.tie_tolerance) - expected.mean
        spread = np.hypot(expected.deviation, expected.deviation[leader])
        overtakes = ndtr(-apart / spread)
        overtakes[leader] = 0.0
        rival = int(overtakes.argmax())
        if len(verified) > 1 and overtakes[rival] < STILL_POSSIBLE:
            return None
        chosen = leader
        if len(verified) > 1 and expected.deviation[rival] > expected.deviation[leader]:
            chosen = rival
        return Proposal(
            configuration=verified[chosen].configuration,
            level=2,
            reason="Repeat of the leader." if chosen == leader else "Repeat of the leader's closest rival.",
            repeat=True,
        )

    def _expected(self, tallies: list[Tally]) -> Prediction:
        points = self._pool.points([tally.configuration for tally in tallies])
        return self._surrogate.predict(self._observations(), points)

    def _point(self, key: Key) -> Points:
        """The point of a configuration told or in flight, worked out once."""
        if key not in self._points:
            names = [knob.name for knob in self.space.knobs]
            self._points[key] = self._pool.points([dict(zip(names, key, strict=True))])[0]
        return self._points[key]

    def _observations(self) -> Observations:
        """What has been told; new proposals in flight count as average, so that the next goes elsewhere."""
        told = self._taken_in()
        waiting = [self._point(key) for key in self._in_flight if key not in self.tallies]
        if not waiting or np.isnan(told.log_scores).all():
            return told
        return told.and_also(waiting, float(np.nanmean(told.log_scores)))

    def _taken_in(self) -> Observations:
        """What has been told, that since the last time with it: all at once, as thousands are told anew."""
        if new := [key for key in self._changed if key not in self._rows]:
            self._rows |= {key: row for row, key in enumerate(new, start=len(self._rows))}
            self._told = self._told.and_also([self._point(key) for key in new], np.nan)
        for key in self._changed:
            row, tally = self._rows[key], self.tallies[key]
            self._told.log_scores[row] = np.nan if tally.known is None else _log(tally.known)
            self._told.repeats[row] = max(len(tally.scores), 1)
            self._told.bounds[row] = tally.only_bounded
        self._changed.clear()
        return self._told


def _log(score: float) -> float:
    """The logarithm of a score; of a score of 0, which has none, that of next to nothing."""
    return math.log(max(score, 1e-9))
