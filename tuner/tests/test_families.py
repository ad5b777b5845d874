"""The generated problems of the benchmark, and the default strategy on some of them."""

import sys
from pathlib import Path

import numpy as np
import pytest
from trimtab_trials.trial import Verdict
from trimtab_tuner.strategies import make_strategy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
from generated import DEVELOPMENT, FAMILIES, HELD_OUT, problem


def regrets(name, family, *, noise, seeds):
    """What a strategy's recommendations lack on the problems of some seeds."""
    found = []
    for seed in seeds:
        made, chance = problem(family, seed), np.random.default_rng(seed)
        estimated = made.estimated_noise(noise, chance)
        strategy = make_strategy(
            name, made.space, seed=seed, budget_trials=made.budget_trials, noise=estimated
        )
        while (proposal := strategy.ask()) is not None:
            strategy.tell(made.measured(proposal.configuration, noise, chance))
        best = strategy.best()
        found.append(made.regret(None if best is None else best.configuration, noise))
    return found


def test_no_seed_is_in_both_halves():
    """What is only reported must not be what was chosen by."""
    assert not set(DEVELOPMENT) & set(HELD_OUT)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_configuration_is_better_than_the_best_that_a_family_knows(family):
    """Regrets are shares of it."""
    for seed in DEVELOPMENT[:4]:
        made = problem(family, seed)
        random = make_strategy("random", made.space, seed=1, budget_trials=200)
        values = [
            made.value(made.positions(proposal.configuration))
            for proposal in iter(lambda search=random: search.ask(), None)
        ]
        assert 0 < max(values) <= 1 + 1e-9


def test_failing_is_a_matter_of_chance_only_on_a_noisy_host():
    """Without noise a configuration fails always or never."""
    made, chance = problem("mixed", 1), np.random.default_rng(1)
    random = make_strategy("random", made.space, seed=1, budget_trials=60)
    asked = [proposal.configuration for proposal in iter(random.ask, None)]
    assert {made.failing(c, 0.0) for c in asked} == {0.0, 1.0}
    assert any(0.1 < made.failing(c, 0.05) < 0.9 for c in asked)
    sure = next(c for c in asked if made.failing(c, 0.0) == 1.0)
    assert made.measured(sure, 0.0, chance).verdict is Verdict.FAILED_VERIFICATION


@pytest.mark.parametrize("family", ["corner", "narrow", "ridge"])
def test_default_strategy_lacks_less_than_half_of_what_random_choice_does(family):
    """A few of the development seeds; `make bench` has the others."""
    seeds = DEVELOPMENT[:4]
    own = regrets("surrogate-race", family, noise=0.02, seeds=seeds)
    assert np.mean(own) < np.mean(regrets("random", family, noise=0.02, seeds=seeds)) / 2
