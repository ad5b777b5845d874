"""A Gaussian process with expected improvement, from scikit-learn: the textbook method.

Jones, Schonlau and Welch, Efficient Global Optimization of Expensive Black-Box Functions, Journal of Global
Optimization 13, 1998. The first trials are spread over the space; then a process with a Matérn 5/2 kernel,
length scales and noise fitted by maximum likelihood, says where improvement is expected. A failed trial
counts as half the worst verified score.
"""

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from trimtab_tuner.space import Space
from trimtab_tuner.strategies.base import BaseStrategy, Options, Proposal
from trimtab_tuner.strategies.pool import Pool
from trimtab_tuner.strategies.surrogate import LINEAR_ALGEBRA

FIRST_TRIALS = 5
MOST_TRIALS = 150
# Where a step gains less than this share of the likelihood, the search for the kernel's parameters ends; at
# SciPy's own limits it takes twice as long and leads to the same proposals.
LIKELIHOOD_GAIN = 1e-4
LIKELIHOOD_SLOPE = 1e-3

Vector = NDArray[np.float64]


class GaussianProcess(BaseStrategy):
    """The strategy; see the module's docstring, and `strategies.base` for the contract."""

    def __init__(self, space: Space, options: Options) -> None:
        super().__init__(space, options)
        self._pool = Pool(space, options.seed)

    def _propose(self) -> Proposal | None:
        leaders = sorted(self.verified(), key=lambda tally: -tally.mean)[:FIRST_TRIALS]
        around = self._pool.points([tally.configuration for tally in leaders])
        candidates = self._pool.candidates(around, self.spent)
        generator = np.random.default_rng((self.options.seed, self.spent))
        if self.spent < FIRST_TRIALS or not leaders:
            worth = generator.random(len(candidates))
        else:
            worth = self._expected_improvement(candidates) + 1e-12 * generator.random(len(candidates))
        for index in np.argsort(-worth, kind="stable"):
            configuration = self._pool.configuration_of(candidates, int(index))
            if not self.knows(configuration) and self.space.allows(configuration):
                return Proposal(configuration=configuration, level=1, reason="Largest expected improvement.")
        return None

    def _expected_improvement(self, candidates: np.ndarray) -> np.ndarray:
        from scipy.stats import norm
        from sklearn.gaussian_process import GaussianProcessRegressor  # slow to import, seldom used
        from sklearn.gaussian_process.kernels import Matern, WhiteKernel

        told = [tally for tally in self.tallies.values() if tally.known is not None or tally.failures][
            -MOST_TRIALS:
        ]
        worst = min(tally.mean for tally in self.verified()) / 2
        scores = np.array([worst if tally.known is None else tally.known for tally in told])
        at = self._pool.coordinates(self._pool.points([tally.configuration for tally in told]))
        kernel = Matern(np.full(at.shape[1], 0.3), (0.05, 5.0), nu=2.5) + WhiteKernel(1e-3, (1e-6, 1.0))
        model = GaussianProcessRegressor(kernel, normalize_y=True, optimizer=_most_likely)
        with warnings.catch_warnings(), LINEAR_ALGEBRA.limit(limits=1):
            warnings.simplefilter("ignore")  # a length scale at its bound is no news here
            model.fit(at, scores)
            mean, deviation = model.predict(self._pool.coordinates(candidates), return_std=True)
        deviation = np.maximum(deviation, 1e-9)
        lead = mean - scores.max()
        improvement: np.ndarray = lead * norm.cdf(lead / deviation) + deviation * norm.pdf(lead / deviation)
        return improvement


def _most_likely(
    objective: Callable[[Vector], tuple[float, Vector]], start: Vector, bounds: Vector
) -> tuple[Vector, float]:
    """The kernel's parameters (logarithms) of the highest likelihood, and the objective there."""
    from scipy.optimize import Bounds, minimize  # seldom used, as scikit-learn above

    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(bounds[:, 0], bounds[:, 1]),
        options={"ftol": LIKELIHOOD_GAIN, "gtol": LIKELIHOOD_SLOPE},
    )
    return found.x, float(found.fun)
