"""The model behind `surrogate-race`: what a configuration would score, and whether it would be verified.

Two Gaussian processes with the Matérn 5/2 kernel (Rasmussen and Williams, Gaussian Processes for Machine
Learning, MIT Press 2006, chapters 2, 4.2 and 5.4). Two categories of a knob are as far apart as its length
scale says, whichever they are (a Hamming distance).

*Score.* Of the logarithm of the verified scores, so that a difference is a ratio. The level is unknown (a
constant with a wide prior); round it the prior expects a bowl: `BOWL` less at the rims than in the middle,
since ranges are chosen wide. Each configuration counts with its mean, whose variance is that of one trial
divided by its repeats; besides, what neighbours cannot tell of a configuration is a part of its score of its
own, which only its own trials reveal. A score that is only known to be exceeded (the load generator gave out)
counts as what the model expects of a score above that bound.

*Verification.* Of +1 (verified) and -1 (failed). The probability is that of a positive value.

How far scores differ, the length scale of each knob and the part of its own are the most probable ones given
the trials (`kernel.py`), under priors that say little: the more knobs, the longer the scales, as
most do nothing.

With experience (`past_runs.py`) the prior comes from the earlier runs as well: each is smoothed onto the
candidates; their weighted mean is what is expected, and the way in which they differ from it is added to the
kernel (the empirical covariance), so that two or three trials tell which of the earlier runs this one
resembles. What no earlier run explains is left to the Matérn kernel.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import log_ndtr, ndtr
from threadpoolctl import ThreadpoolController
from trimtab_trials.configuration import Configuration

from trimtab_tuner.space import Knob, Space
from trimtab_tuner.strategies.kernel import JITTER, LEVEL_VARIANCE, Fit, distances, fitted, matern
from trimtab_tuner.strategies.past_runs import PastRun
from trimtab_tuner.strategies.pool import Points, Pool

Vector = NDArray[np.float64]

VERIFICATION_NOISE = 0.1
VERIFICATION_SPREAD = 0.3
EXPECTED_VERIFIED = 0.5
EXPERIENCE_BANDWIDTH = 0.07
MOST_TRIALS = 160
FITTED_TRIALS = 64
SAME = 1 - 1e-9  # the kernel of a point with itself, but for rounding
AMPLITUDE = 0.3  # of the log score over the space, as far as nothing is known
UNEXPLAINED = 0.5  # of that, where earlier runs are known
ROUGH = 0.01  # of a configuration by itself
BOWL = 0.2  # how much less is expected at two rims than in the middle, as ranges are chosen wide
VERIFIED_LENGTH = 0.4  # of a range, for one knob

# The matrices are small: threads of the linear algebra library would wait for each other most of the time,
# and take the CPUs that the server and the generator need.
LINEAR_ALGEBRA = ThreadpoolController()


@dataclass(frozen=True)
class Prior:
    """What is expected before any trial: means and factors of the covariance, one column per point."""

    score: Vector
    score_factors: Points
    verified: Vector
    verified_factors: Points


@dataclass(frozen=True)
class Prediction:
    """At each candidate: mean and standard deviation of the log score, probability of being verified.

    `scale` is how far log scores differ over the space (a standard deviation).
    """

    mean: Vector
    deviation: Vector
    verified: Vector
    scale: float

    def split(self, at: int) -> tuple["Prediction", "Prediction"]:
        """Of the candidates before `at`, and of the others."""
        first, others = (
            Prediction(self.mean[part], self.deviation[part], self.verified[part], self.scale)
            for part in (slice(at), slice(at, None))
        )
        return first, others


@dataclass(frozen=True)
class Observations:
    """The configurations told, in order.

    Points, log of the mean score (NaN: failed), number of scores, and whether the score is only a bound from
    below.
    """

    points: Points
    log_scores: Vector
    repeats: Vector
    bounds: NDArray[np.bool_]

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which of them did not fail."""
        return ~np.isnan(self.log_scores)

    def and_also(self, points: Sequence[Points], log_score: float) -> "Observations":
        """These and then some more points, each measured once with that score."""
        return Observations(
            np.vstack([self.points, *points]),
            np.append(self.log_scores, np.full(len(points), log_score)),
            np.append(self.repeats, np.ones(len(points))),
            np.append(self.bounds, np.zeros(len(points), dtype=bool)),
        )

    def only(self, kept: NDArray[np.intp] | NDArray[np.bool_]) -> "Observations":
        """Some of these."""
        return Observations(self.points[kept], self.log_scores[kept], self.repeats[kept], self.bounds[kept])

    def thinned(self, most: int) -> "Observations":
        """At most so many: the best third of that, and the rest evenly over the others."""
        if len(self.points) <= most:
            return self
        order = np.argsort(-np.nan_to_num(self.log_scores, nan=-np.inf), kind="stable")
        best, others = order[: most // 3], order[most // 3 :]
        spread = np.linspace(0, len(others) - 1, most - len(best)).round().astype(int)
        return self.only(np.sort(np.concatenate([best, others[spread]])))


class Surrogate:
    """The model of one search."""

    def __init__(
        self,
        space: Space,
        pool: Pool,
        *,
        noise: float,
        experience: Sequence[PastRun] = (),
        weights: Sequence[float] = (),
    ) -> None:
        self._pool = pool
        self._past = [
            _Past(space, pool, run, weight)
            for run, weight in zip(experience, weights, strict=True)
            if weight > 1e-4 and any(result.score for result in run.results)
        ]
        self._knobs = len(pool.categorical)
        self._noise = noise
        self._fitted_to: bytes | None = None
        self._kernel: Fit

    def adjust(self, noise: float) -> None:
        """From now on a trial differs by so much from the next."""
        self._noise = noise

    def predict(self, seen: Observations, candidates: Points) -> Prediction:
        """What the trials seen say about the candidates."""
        with LINEAR_ALGEBRA.limit(limits=1):
            self._fit(seen.only(seen.ok & ~seen.bounds))
            seen = seen.thinned(MOST_TRIALS)
            scored = seen.only(seen.ok)
            if scored.bounds.any():
                scored = self._completed(scored)
            mean, deviation = self._scores(scored, candidates)
            return Prediction(mean, deviation, self._verified(seen, candidates), self._kernel.amplitude)

    def _completed(self, scored: Observations) -> Observations:
        """With the mean of what the others let expect above a bound, in the bound's place."""
        exact = scored.only(~scored.bounds)
        mean, deviation = self._scores(exact, scored.points[scored.bounds])
        bounds = scored.log_scores[scored.bounds]
        above = (bounds - mean) / deviation
        hazard = np.exp(-0.5 * above**2 - 0.5 * math.log(2 * math.pi) - log_ndtr(-above))
        log_scores = scored.log_scores.copy()
        log_scores[scored.bounds] = np.maximum(bounds, mean + deviation * hazard)
        return Observations(scored.points, log_scores, scored.repeats, np.zeros_like(scored.bounds))

    def _scores(self, scored: Observations, candidates: Points) -> tuple[Vector, Vector]:
        """Mean and deviation of the log score at the candidates."""
        prior, seen_prior = self._prior(candidates), self._prior(scored.points)
        residual, fit = scored.log_scores - seen_prior.score, self._kernel
        at = self._pool.coordinates(candidates, fit.lengths)
        seen_at = self._pool.coordinates(scored.points, fit.lengths)
        # Without any score only differences can be spoken of.
        level = LEVEL_VARIANCE if len(residual) else 0.0
        between = matern(seen_at, at)
        same = between > SAME
        between *= fit.amplitude**2
        between += level
        between += fit.rough**2 * same
        between += seen_prior.score_factors.T @ prior.score_factors
        own = fit.amplitude**2 * matern(seen_at, seen_at) + level
        own += seen_prior.score_factors.T @ seen_prior.score_factors
        own[np.diag_indices_from(own)] += JITTER + fit.rough**2 + self._noise**2 / scored.repeats
        variance = fit.amplitude**2 + fit.rough**2 + level + (prior.score_factors**2).sum(0)
        mean, variance = _condition(own, between, variance, residual, prior.score)
        return mean, np.sqrt(np.maximum(variance, 1e-12))

    def _verified(self, seen: Observations, candidates: Points) -> Vector:
        prior, seen_prior = self._prior(candidates), self._prior(seen.points)
        residual = np.where(seen.ok, 1.0, -1.0) - seen_prior.verified
        lengths = np.full(self._knobs, VERIFIED_LENGTH * math.sqrt(self._knobs))
        at = self._pool.coordinates(candidates, lengths)
        seen_at = self._pool.coordinates(seen.points, lengths)
        between = matern(seen_at, at) + seen_prior.verified_factors.T @ prior.verified_factors
        own = matern(seen_at, seen_at) + seen_prior.verified_factors.T @ seen_prior.verified_factors
        own[np.diag_indices_from(own)] += VERIFICATION_NOISE
        variance = 1.0 + (prior.verified_factors**2).sum(0)
        mean, variance = _condition(own, between, variance, residual, prior.verified)
        probability: Vector = ndtr(mean / np.sqrt(np.maximum(variance, 0.0) + VERIFICATION_SPREAD))
        return probability

    def _fit(self, scored: Observations) -> None:
        """Make the kernel the most probable one given the trials.

        Of many trials only so many of the first count that it need not be found anew after each.
        """
        due = FITTED_TRIALS
        while due * 5 // 4 <= len(scored.points):
            due = due * 5 // 4
        scored = scored.only(np.arange(min(due, len(scored.points))))
        known = scored.log_scores.tobytes() + scored.repeats.tobytes() + repr(self._noise).encode()
        if self._fitted_to == known:
            return
        self._fitted_to = known
        some = scored.thinned(FITTED_TRIALS)
        self._kernel = fitted(
            self._pool.coordinates(some.points),
            self._pool.owners,
            some.log_scores - self._prior(some.points).score,
            self._noise**2 / some.repeats,
            usual_amplitude=AMPLITUDE * (UNEXPLAINED if self._past else 1.0),
            usual_rough=ROUGH,
        )

    def _prior(self, points: Points) -> Prior:
        none = np.zeros((0, len(points)))
        if not self._past:
            middle = np.where(self._pool.categorical, points, 0.5)
            bowl = ((points - middle) ** 2).sum(axis=1) * min(1.0, 2 / self._knobs)
            return Prior(-BOWL * bowl, none, np.full(len(points), EXPECTED_VERIFIED), none)
        weights = np.array([past.weight for past in self._past])
        weights /= weights.sum()
        smoothed = [past.at(points) for past in self._past]
        scores, verified = np.array([s for s, _ in smoothed]), np.array([v for _, v in smoothed])
        mean, mean_verified = weights @ scores, weights @ verified
        root = np.sqrt(weights)[:, None]
        return Prior(mean, root * (scores - mean), mean_verified, root * (verified - mean_verified))


class _Past:
    """A past run on the scales of the present space, its scores as logarithms of shares of its best.

    What the load generator has cut off is left out: it would say that nothing beyond is any better.
    """

    def __init__(self, space: Space, pool: Pool, run: PastRun, weight: float) -> None:
        self.weight = weight
        self._pool = pool
        told = [r for r in run.results if r.known_score is not None or r.verdict.failed]
        self._points = np.array(
            [[_position(knob, run.space, r.configuration) for knob in space.free] for r in told]
        )
        scores = np.array([np.nan if r.known_score is None else r.known_score for r in told])
        self._ok = ~np.isnan(scores)
        self._log_scores = np.log(np.maximum(scores[self._ok] / np.nanmax(scores), 1e-9))
        self._bandwidth = np.full(
            len(space.free), EXPERIENCE_BANDWIDTH * math.sqrt(max(len(space.free), 2) / 2)
        )

    def at(self, points: Points) -> tuple[Vector, Vector]:
        """Log score and verification (-1 to 1) of this run, smoothed onto the points."""
        near = self._pool.coordinates(points, self._bandwidth)
        own = self._pool.coordinates(self._points, self._bandwidth)
        weights = np.exp(-0.5 * distances(near, own) ** 2) + 1e-12
        verified = weights[:, self._ok]
        return (
            (verified @ self._log_scores) / verified.sum(axis=1),
            2 * verified.sum(axis=1) / weights.sum(axis=1) - 1,
        )


def _position(knob: Knob, past: Space, configuration: Configuration) -> float:
    """Where a past configuration lies on a knob's scale: the middle if the past space has no such knob."""
    own = next((k for k in past.knobs if k.name == knob.name), None)
    if own is None and knob.role is not None:
        own = past.of_role(knob.role)
    value = None if own is None else configuration.get(own.name)
    if knob.kind == "categorical":
        return float(knob.choices.index(value)) if value in knob.choices else -1.0
    return 0.5 if own is None or value is None or own.kind == "categorical" else own.position(value)


def _condition(
    own: Points, between: Points, variance: Vector, residual: Vector, prior: Vector
) -> tuple[Vector, Vector]:
    """Mean and variance at the candidates given the residuals (Rasmussen and Williams, 2.23, 2.24)."""
    if not len(residual):
        return prior, variance
    factor = np.linalg.cholesky(own)
    half = solve_triangular(factor, between, lower=True, check_finite=False)
    mean: Vector = prior + solve_triangular(factor, residual, lower=True, check_finite=False) @ half
    return mean, variance - np.einsum("ij,ij->j", half, half)
