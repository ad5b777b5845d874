"""The kernel of the default strategy's model, and its most probable parameters given some trials.

Matérn 5/2 with a length scale for each knob. The parameters' logarithms have normal priors, and their most
probable values are found by climbing the posterior's gradient (Rasmussen and Williams, Gaussian Processes for
Machine Learning, MIT Press 2006, section 5.4). Distances between random points of a space grow with the root
of the number of its knobs, and so does the usual length scale (Hvarfner, Hellsten and Nardi, Vanilla Bayesian
Optimization Performs Great in High Dimensions, ICML 2024): without trials that say otherwise the model of
thirty knobs is no more rugged than that of two.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from trimtab_tuner.strategies.pool import Points

Vector = NDArray[np.float64]

LEVEL_VARIANCE = 100.0
LENGTH_MANY = 0.5
LENGTH = 0.16  # of a range, for one knob
LENGTH_SPREAD = 0.2
LENGTH_MOST = 1.0
AMPLITUDE_SPREAD = 0.5
ROUGH_SPREAD = 1.0
ROUGH_START = 2.0
STEPS = 15
JITTER = 1e-6  # on the diagonal, so that rounding leaves a matrix positive definite


@dataclass(frozen=True)
class Fit:
    """The kernel's parameters: standard deviations of the log score over the space (`amplitude`) and of a
    configuration by itself (`rough`), and the length scale of each knob, in ranges.
    """

    amplitude: float
    rough: float
    lengths: Vector


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


def distances(a: Points, b: Points) -> Points:
    """The distances between the rows of two matrices."""
    squared = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
    root: Points = np.sqrt(np.maximum(squared, 0.0))
    return root


def fitted(
    coordinates: Points,
    owners: NDArray[np.intp],
    values: Vector,
    noise: Vector,
    *,
    usual_amplitude: float,
    usual_rough: float,
) -> Fit:
    """The most probable kernel.

    `coordinates` has a row per trial and `owners` the knob of each of its columns; `noise` is the variance
    of each value. The usual deviations are the medians of their priors.
    """
    from scipy.optimize import minimize  # takes a while to load, which most commands need not pay

    knobs = int(owners.max()) + 1
    usual = np.log(
        [usual_amplitude, usual_rough, *([min(LENGTH * knobs, LENGTH_MANY * math.sqrt(knobs))] * knobs)]
    )
    spread = np.array([AMPLITUDE_SPREAD, ROUGH_SPREAD, *([min(LENGTH_SPREAD * knobs, LENGTH_MOST)] * knobs)])
    found = usual
    if len(values) > 1:
        posterior = _Posterior(coordinates, owners, values - values.mean(), noise, usual, spread)
        found = (
            usual
            + spread
            * minimize(
                posterior,
                np.eye(len(usual))[1]
                * ROUGH_START,  # from much noise to less: the other way it is taken for hills
                jac=True,
                method="L-BFGS-B",
                bounds=[(-4.0, 4.0)] * len(usual),
                options={"maxiter": STEPS, "maxfun": STEPS + 5},
            ).x
        )
    return Fit(math.exp(found[0]), math.exp(found[1]), np.exp(found[2:]))


class _Posterior:
    """Minus the logarithm of the posterior density and its gradient, over standardised log parameters."""

    def __init__(
        self,
        coordinates: Points,
        owners: NDArray[np.intp],
        values: Vector,
        noise: Vector,
        usual: Vector,
        spread: Vector,
    ) -> None:
        self._at, self._values, self._noise = coordinates, values, noise
        self._usual, self._spread = usual, spread
        self._owners = owners

    def __call__(self, parameters: Vector) -> tuple[float, Vector]:
        logs = self._usual + self._spread * parameters
        amplitude, rough = math.exp(2 * logs[0]), math.exp(2 * logs[1])
        at = self._at * np.exp(-logs[2:])[self._owners]
        squares = (at**2).sum(1)
        distance = -2 * (at @ at.T)
        distance += squares[:, None]
        distance += squares
        np.maximum(distance, 0.0, out=distance)
        distance *= 5
        np.sqrt(distance, out=distance)
        decay = amplitude * np.exp(-distance)
        slope = (distance + 1) * decay  # the kernel's derivative, but for the squared differences
        shape = slope + distance**2 / 3 * decay
        own = shape + LEVEL_VARIANCE
        own[np.diag_indices_from(own)] += self._noise + rough + JITTER
        factor, _ = lapack.dpotrf(own, lower=1)
        inverse, _ = lapack.dpotri(factor, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        fit = inverse @ self._values
        loss = 0.5 * float(self._values @ fit) + float(np.log(np.diag(factor)).sum())
        loss += 0.5 * float(parameters @ parameters)
        pull = 0.5 * (inverse - fit[:, None] * fit)  # the loss by each element of the matrix
        gradient = np.empty_like(parameters)
        gradient[0] = 2 * float((pull * shape).sum())
        gradient[1] = 2 * rough * float(np.trace(pull))
        weighted = pull * slope
        columns = 2 * (weighted.sum(1) @ at**2 - ((weighted @ at) * at).sum(0))
        gradient[2:] = 5 / 3 * np.bincount(self._owners, columns, len(gradient) - 2)
        return loss, gradient * self._spread + parameters
