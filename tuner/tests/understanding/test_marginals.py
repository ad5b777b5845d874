"""Marginals of a forest against counting out, and shares of the variance against a function that is known."""

import itertools

import numpy as np
import pytest
from sklearn.tree import ExtraTreeRegressor
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.space import Knob, Space
from trimtab_tuner.understanding.importance import importance
from trimtab_tuner.understanding.marginals import Marginals

SPACE = Space(
    knobs=tuple(
        Knob(name=name, kind="integer", low=0, high=1000, default=0, help="A knob.") for name in "abc"
    )
)
FLATNESS = {"a": 0.0, "b": 1.0, "c": 9.0}


def g_function(configuration):
    """Sobol's g-function, whose parts are known in closed form."""
    factors = ((abs(4 * configuration[n] / 1000 - 2) + f) / (1 + f) for n, f in FLATNESS.items())
    return 10 + float(np.prod(list(factors)))


PARTS = {name: 1 / 3 / (1 + flatness) ** 2 for name, flatness in FLATNESS.items()}
TOTAL = np.prod([1 + part for part in PARTS.values()]) - 1


def measured(places):
    """A verified trial at each place."""
    return [
        Trial(configuration=c, verdict=Verdict.VERIFIED, score=g_function(c))
        for place in places
        for c in [dict(zip("abc", (int(x) for x in place), strict=True))]
    ]


def test_marginals_are_what_counting_out_every_point_gives():
    """Two numeric knobs and a category, held at places that were measured and at others."""
    draw = np.random.default_rng(3)
    measured = np.column_stack([draw.random(80), draw.random(80), draw.integers(0, 3, 80)]).astype(np.float32)
    scores = 10 * measured[:, 0] * measured[:, 2] + draw.random(80)
    trees = [ExtraTreeRegressor(random_state=seed).fit(measured, scores) for seed in range(5)]
    marginals = Marginals(trees, measured, [False, False, True])

    def forest(*held):
        points = np.array(list(itertools.product(*held)), dtype=np.float32)
        return np.mean([tree.predict(points) for tree in trees], axis=0)

    of_first, of_second, of_category = marginals.points
    assert of_category.tolist() == [0, 1, 2]
    places = np.sort(np.array([0.1, 0.5, float(measured[7, 0])], dtype=np.float32))
    wanted = forest(places, of_second, of_category).reshape(3, -1).mean(axis=1)
    assert marginals.one(0, places).mean(axis=0) == pytest.approx(wanted)
    wanted = forest(places, of_second, of_category).reshape(3, -1, 3).mean(axis=1)
    assert marginals.two(0, 2, places, of_category) == pytest.approx(wanted)
    every = forest(of_first, of_second, of_category)
    assert marginals.variance(seed=1) == pytest.approx(every.var(), rel=0.1)


def test_shares_are_those_of_a_function_in_closed_form():
    """Of a knob, and of a pair beyond its knobs."""
    found = importance(SPACE, measured(np.random.default_rng(1).integers(0, 1001, (1000, 3))))
    shares = {knob.knob: knob.share for knob in found.knobs}
    assert shares == pytest.approx({n: part / TOTAL for n, part in PARTS.items()}, abs=0.08)
    pairs = {(p.knob_one, p.knob_two): p.share for p in found.interactions}
    assert pairs["a", "b"] == pytest.approx(PARTS["a"] * PARTS["b"] / TOTAL, abs=0.04)


@pytest.mark.parametrize("near", [0.7, 0.9])
def test_trials_crowded_round_the_best_do_not_make_shares_of_more_than_the_whole(near):
    """A search measures most where scores are high; what it varies by is divided all the same."""
    draw = np.random.default_rng(2)
    everywhere = draw.integers(0, 1001, (60, 3))
    crowded = np.clip(draw.normal(950, 20, (60, 3)), 0, 1000)
    found = importance(SPACE, measured(np.where(draw.random((60, 1)) < near, crowded, everywhere)))
    parts = [knob.share for knob in found.knobs] + [pair.share for pair in found.interactions]
    assert 0.9 <= sum(parts) <= 1.06
