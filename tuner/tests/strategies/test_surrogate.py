"""The model behind the default strategy."""

import numpy as np
import pytest
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.strategies.kernel import fitted
from trimtab_tuner.strategies.past_runs import PastRun
from trimtab_tuner.strategies.pool import Pool
from trimtab_tuner.strategies.surrogate import Observations, Surrogate

KNOBS = 6
SPACE = Space(
    knobs=tuple(
        Knob(name=f"k{i}", kind="integer", low=0, high=1000, default=500, help="A number.")
        for i in range(KNOBS)
    )
)


def observed(points, log_scores, bounds=()):
    """Each point told once; those in `bounds` score at least so much."""
    bounded = np.isin(np.arange(len(points)), bounds)
    return Observations(points, np.asarray(log_scores, dtype=float), np.ones(len(points)), bounded)


def test_knob_that_does_nothing_gets_a_longer_length_than_one_that_does():
    """That is how a search among thirty knobs finds the few that matter."""
    points = np.random.default_rng(1).random((60, KNOBS))
    values = 0.3 * np.sin(6 * points[:, 0]) + 0.2 * points[:, 1] ** 2
    fit = fitted(points, np.arange(KNOBS), values, np.full(60, 1e-4), usual_amplitude=0.3, usual_rough=0.01)
    assert fit.lengths[0] < fit.lengths[1] < fit.lengths[2:].min()


def test_noise_that_nobody_told_of_is_found_in_the_trials():
    """Else every lucky trial would be a valley of its own."""
    generator = np.random.default_rng(2)
    points = generator.random((60, KNOBS))
    values = 0.3 * points[:, 0] + 0.1 * generator.normal(size=60)
    fit = fitted(points, np.arange(KNOBS), values, np.zeros(60), usual_amplitude=0.3, usual_rough=0.01)
    assert fit.rough == pytest.approx(0.1, rel=0.4)


def test_score_that_is_only_bounded_raises_the_expectation_and_never_lowers_it():
    """Where the model expects more than the bound already, the bound says nothing."""
    points = np.random.default_rng(3).random((20, KNOBS))
    scores = 6 + 0.5 * points[:, 0]
    model = Surrogate(SPACE, Pool(SPACE, 1), noise=0.02)
    there = np.full((1, KNOBS), 0.5)
    without = model.predict(observed(points, scores), there).mean[0]

    def with_bound(bound):
        seen = observed(np.vstack([points, there]), [*scores, bound], bounds=[20])
        return model.predict(seen, there).mean[0]

    assert with_bound(6.0) == pytest.approx(without, abs=0.02)
    assert with_bound(6.0) >= without - 1e-3
    assert with_bound(6.8) > without + 0.1


def test_what_the_generator_cut_off_in_an_earlier_run_teaches_nothing():
    """A bound of 300 for what scores 900 would say that the best is where others are."""
    exact = [
        Trial(configuration={**SPACE.default(), "k0": n}, verdict=Verdict.VERIFIED, score=100.0 + n)
        for n in (0, 200, 400, 600)
    ]
    cut_off = Trial(
        configuration={**SPACE.default(), "k0": 800}, verdict=Verdict.GENERATOR_LIMITED, estimated_score=300.0
    )
    there = np.full((1, KNOBS), 0.5)
    there[0, 0] = 0.8

    def expected(results):
        past = PastRun(space=SPACE, features={}, results=results)
        model = Surrogate(SPACE, Pool(SPACE, 1), noise=0.02, experience=[past], weights=[1.0])
        return model.predict(observed(np.zeros((0, KNOBS)), []), there).mean[0]

    assert expected([*exact, cut_off]) == expected(exact)
