"""The model behind `surrogate-race`: what a configuration would score, and whether it would be verified.

Two Gaussian processes over the pool's coordinates, with the Matérn 5/2 kernel (Rasmussen and Williams,
Gaussian Processes for Machine Learning, MIT Press 2006, chapters 2 and 4.2):

*Score.* Of the logarithm of the verified scores, so that a difference is a ratio. The level is unknown (a
constant with a wide prior); round it the prior expects a bowl: `BOWL` less at the rims than in the middle,
since ranges are chosen wide. Each configuration counts with its mean, whose variance is that of one trial
divided by its repeats.

*Verification.* Of +1 (verified) and -1 (failed). The probability is that of a positive value.

With experience (`past_runs.py`) the prior comes from the earlier runs instead: each is smoothed onto the
candidates; their weighted mean replaces the bowl, and the way in which they differ from it is added to the
kernel (the empirical covariance), so that two or three trials tell which of the earlier runs this one
resembles. What no earlier run explains is left to the Matérn kernel.

What neighbours cannot tell of a configuration is a part of its score of its own (`ROUGHNESS`), which only its
own trials and repeats reveal. On a noisy host the amplitude is the most probable one given the trials, as
surfaces differ in it tenfold and a smooth model that is too tame would rather believe in noise than in a
cliff.

With more than `ISOTROPIC_KNOBS` free knobs each has a length scale of its own, the most probable one given
the trials (coordinate ascent on the marginal likelihood), and the variance follows the scores. It is found
anew whenever the number of trials has grown by a quarter, from the trials told up to then: a function of the
history alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import ndtr
from threadpoolctl import ThreadpoolController
from trimtab_trials.configuration import Configuration

from trimtab_tuner.space import Knob, Space
from trimtab_tuner.strategies.past_runs import PastRun
from trimtab_tuner.strategies.pool import Points, Pool

Vector = NDArray[np.float64]

LENGTH = 0.4
NOISY_LENGTH = 0.6  # with noise it pays to let neighbours say more
AMPLITUDE = 0.12
AMPLITUDES = AMPLITUDE * np.array([0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0])
AMPLITUDE_SPREAD = 0.7  # how far the logarithm of the amplitude strays from the usual one
FEWEST_SCORES = 2
ROUGHNESS = 0.015
BOWL = 0.05
LEVEL_VARIANCE = 100.0
JITTER = 1e-6
VERIFICATION_NOISE = 0.1
VERIFICATION_SPREAD = 0.3
EXPECTED_VERIFIED = 0.5
EXPERIENCE_BANDWIDTH = 0.07
EXPERIENCE_WEIGHT = 1.0
ISOTROPIC_KNOBS = 3
LENGTHS = np.array([0.25, 0.5, 1.0, 2.0, 5.0, 12.0])
MOST_TRIALS = 192
FIRST_FIT = 8
USUAL_TRIALS = 4  # the usual variance counts as much as so many trials
NUGGET = 1e-3
SAME = 1 - 1e-9  # the kernel of a point with itself, but for rounding


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

    `scale` is how far log scores were found to differ over the space (a standard deviation), 0 before that.
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
    """The configurations told, in order: points, log of the mean score (NaN: failed), number of scores."""

    points: Points
    log_scores: Vector
    repeats: Vector

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which of them were verified."""
        return ~np.isnan(self.log_scores)

    def and_also(self, points: Sequence[Points], log_score: float) -> "Observations":
        """These and then some more points, each measured once with that score."""
        return Observations(
            np.vstack([self.points, *points]),
            np.append(self.log_scores, np.full(len(points), log_score)),
            np.append(self.repeats, np.ones(len(points))),
        )


def matern(a: Points, b: Points) -> Points:
    """Matérn 5/2 of the distances between the rows of two matrices already divided by the length scales."""
    squared = a @ (-10 * b.T)  # five times the squared distances; in place, as these are the large matrices
    squared += 5 * (a**2).sum(1)[:, None]
    squared += 5 * (b**2).sum(1)
    np.maximum(squared, 0.0, out=squared)
    distance = np.sqrt(squared)
    squared /= 3
    squared += distance
    squared += 1
    kernel: Points = squared
    kernel *= np.exp(np.negative(distance, out=distance), out=distance)
    return kernel


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
        self.adjust(noise)

    def adjust(self, noise: float) -> None:
        """From now on a trial differs by so much from the next."""
        self._noise = noise
        length = NOISY_LENGTH if noise > 0 else LENGTH
        self._base_length = length * math.sqrt(max(self._knobs, 2) / 2)
        self.forget()

    def forget(self) -> None:
        """Take back what has been fitted to trials."""
        self._lengths = np.full(self._knobs, self._base_length)
        self._variance = AMPLITUDE**2
        self._fitted_from = b""

    def predict(self, seen: Observations, candidates: Points) -> Prediction:
        """What the trials seen say about the candidates."""
        with LINEAR_ALGEBRA.limit(limits=1):
            return self._predict(seen, candidates)

    def _predict(self, seen: Observations, candidates: Points) -> Prediction:
        self._learn_lengths(seen)
        seen = _thinned(seen)
        self._learn_amplitude(seen)
        rough = ROUGHNESS**2 if self._noise > 0 else 0.0
        at = self._pool.coordinates(candidates, self._lengths)
        seen_at = self._pool.coordinates(seen.points, self._lengths)
        prior, seen_prior = self._prior(candidates), self._prior(seen.points)
        ok = seen.ok
        near, among = matern(seen_at, at), matern(seen_at, seen_at)
        level = LEVEL_VARIANCE if ok.any() else 0.0  # without any score only differences can be spoken of
        between = near[ok]
        same = between > SAME if rough else None
        between *= self._variance
        between += level
        own = self._variance * among[np.ix_(ok, ok)] + level
        if same is not None:
            between += rough * same
        if self._past:
            between += seen_prior.score_factors[:, ok].T @ prior.score_factors
            own += seen_prior.score_factors[:, ok].T @ seen_prior.score_factors[:, ok]
        own[np.diag_indices_from(own)] += JITTER + rough + self._noise**2 / seen.repeats[ok]
        variance = self._variance + rough + level + (prior.score_factors**2).sum(0)
        mean, variance = _condition(
            own,
            between,
            variance,
            seen.log_scores[ok] - seen_prior.score[ok],
            prior.score,
        )
        return Prediction(
            mean=mean,
            deviation=np.sqrt(np.maximum(variance, 1e-12)),
            verified=self._verified(seen, among, near, seen_prior, prior),
            scale=math.sqrt(self._variance) if self._fitted_from else 0.0,
        )

    def _verified(
        self, seen: Observations, among: Points, near: Points, seen_prior: Prior, prior: Prior
    ) -> Vector:
        labels = np.where(seen.ok, 1.0, -1.0)
        own, between = among, near
        if self._past:
            own = own + seen_prior.verified_factors.T @ seen_prior.verified_factors
            between = between + seen_prior.verified_factors.T @ prior.verified_factors
        own = own + VERIFICATION_NOISE * np.eye(len(own))
        variance = 1.0 + (prior.verified_factors**2).sum(0)
        mean, variance = _condition(own, between, variance, labels - seen_prior.verified, prior.verified)
        probability: Vector = ndtr(mean / np.sqrt(np.maximum(variance, 0.0) + VERIFICATION_SPREAD))
        return probability

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
        root = np.sqrt(weights * EXPERIENCE_WEIGHT)[:, None]
        return Prior(mean, root * (scores - mean), mean_verified, root * (verified - mean_verified))

    def _learn_lengths(self, seen: Observations) -> None:
        """Make the length scales those of the largest share of the trials that a fit is due for."""
        if self._knobs <= ISOTROPIC_KNOBS:
            return
        due, limit = FIRST_FIT, min(len(seen.points), MOST_TRIALS)
        while due * 5 // 4 <= limit:
            due = due * 5 // 4
        # A repeat changes the mean of a trial from before: then the same fit is due once more.
        fitted_from = seen.log_scores[:due].tobytes()
        if due > limit or fitted_from == self._fitted_from:
            return
        self._fitted_from = fitted_from
        ok = seen.ok[:due]
        if ok.sum() < FIRST_FIT // 2:
            return
        points = seen.points[:due][ok]
        prior = self._prior(points)
        residual = seen.log_scores[:due][ok] - prior.score
        lengths = np.full(self._knobs, self._base_length)
        best, self._variance = self._likelihood(points, residual, lengths)
        for _ in range(2):
            for knob in range(self._knobs):
                for length in LENGTHS * self._base_length:
                    tried = lengths.copy()
                    tried[knob] = length
                    likelihood, variance = self._likelihood(points, residual, tried)
                    if likelihood > best:
                        best, lengths, self._variance = likelihood, tried, variance
        self._lengths = lengths

    def _learn_amplitude(self, seen: Observations) -> None:
        """Make the amplitude the most probable one, where the lengths are the usual ones and trials noisy."""
        if self._knobs > ISOTROPIC_KNOBS or not self._noise or seen.ok.sum() < FEWEST_SCORES:
            return
        points = seen.points[seen.ok]
        prior = self._prior(points)
        residual = seen.log_scores[seen.ok] - prior.score
        at = self._pool.coordinates(points, self._lengths)
        shape = matern(at, at)
        rest = LEVEL_VARIANCE + prior.score_factors.T @ prior.score_factors
        rest[np.diag_indices_from(rest)] += JITTER + ROUGHNESS**2 + self._noise**2 / seen.repeats[seen.ok]
        factors = np.linalg.cholesky(AMPLITUDES[:, None, None] ** 2 * shape + rest)
        fits = np.linalg.solve(factors, residual[:, None])[..., 0]
        strays = np.log(AMPLITUDES / AMPLITUDE) / AMPLITUDE_SPREAD
        volumes = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        likelihoods = -0.5 * ((fits**2).sum(axis=1) + strays**2) - volumes
        self._variance = float(AMPLITUDES[int(np.argmax(likelihoods))] ** 2)

    def _likelihood(self, points: Points, residual: Vector, lengths: Vector) -> tuple[float, float]:
        """Log marginal likelihood at the best variance for those lengths, and that variance.

        There is a mild preference for lengths that do not go to extremes, and for the usual variance.
        """
        at = self._pool.coordinates(points, lengths)
        own = matern(at, at) + LEVEL_VARIANCE
        own[np.diag_indices_from(own)] += NUGGET
        factor = cho_factor(own, lower=True)
        fit = float(residual @ cho_solve(factor, residual))
        variance = (USUAL_TRIALS * AMPLITUDE**2 + fit) / (USUAL_TRIALS + len(residual))
        spread = float(np.log(lengths / self._base_length).var())
        likelihood = -0.5 * (USUAL_TRIALS + len(residual)) * math.log(variance)
        likelihood -= float(np.log(np.diag(factor[0])).sum()) + 0.1 * spread * len(lengths)
        return likelihood, variance


class _Past:
    """A past run on the scales of the present space, its scores as logarithms of shares of its best."""

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
        squared = (near**2).sum(1)[:, None] + (own**2).sum(1)[None, :] - 2 * near @ own.T
        weights = np.exp(-0.5 * squared) + 1e-12
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


def _thinned(seen: Observations) -> Observations:
    """At most `MOST_TRIALS` of the trials: the best third of that, and the rest evenly over the others."""
    if len(seen.points) <= MOST_TRIALS:
        return seen
    order = np.argsort(-np.nan_to_num(seen.log_scores, nan=-np.inf), kind="stable")
    best, others = order[: MOST_TRIALS // 3], order[MOST_TRIALS // 3 :]
    spread = np.linspace(0, len(others) - 1, MOST_TRIALS - len(best)).round().astype(int)
    kept = np.sort(np.concatenate([best, others[spread]]))
    return Observations(seen.points[kept], seen.log_scores[kept], seen.repeats[kept])
