"""The model of hosts and configurations finds what was put in."""

import math
import time

import numpy as np
import pytest
from trimtab_tuner.fleet.effects import FITTED_EACH, MISSING_SHARE, Effects, Observation, fitted_of

HOSTS = [f"host{number}" for number in range(8)]


def observed(effects, *, noise=0.02, interaction=0.02, spread=0.15, every=5, hosts=HOSTS, seed=1):
    """Every configuration on every host, the default before each so many; levels differ by `spread`."""
    generator = np.random.default_rng(seed)
    found = []
    for host in hosts:
        level = 7 + generator.normal(0, spread)
        for number, (name, effect) in enumerate(effects.items()):
            block = 1 + number // every
            if number % every == 0:
                found.append(
                    Observation("default", host, block, math.exp(level + generator.normal(0, noise)))
                )
            here = effect + generator.normal(0, interaction)
            found.append(Observation(name, host, block, math.exp(level + here + generator.normal(0, noise))))
    return found


def test_effects_are_found_whatever_the_levels_of_the_hosts():
    """Ten configurations on eight hosts that differ by 15 %."""
    true = {f"c{number}": 0.02 * number for number in range(1, 11)}
    effects = Effects(observed(true), "default")
    for name, effect in true.items():
        assert effects.of(name).mean == pytest.approx(effect, abs=0.03)
    assert effects.of("default").mean == 0
    assert effects.of("unknown") is None


def test_hosts_that_measured_different_configurations_are_compared_over_the_default():
    """A slow host's configuration is not taken for a slow one."""
    slow = [Observation("default", "slow", 1, 50.0), Observation("a", "slow", 1, 60.0)]
    fast = [Observation("default", "fast", 1, 100.0), Observation("b", "fast", 1, 110.0)]
    effects = Effects(slow + fast, "default")
    assert effects.of("a").mean > effects.of("b").mean
    assert effects.levels()["fast"] / effects.levels()["slow"] == pytest.approx(2, rel=0.1)


def test_interval_of_an_effect_covers_it_as_often_as_it_says():
    """90 % one-sided, over 200 draws with three hosts each."""
    below = 0
    for seed in range(200):
        effects = Effects(observed({"c": 0.1, "d": 0.0, "e": 0.05}, hosts=HOSTS[:3], seed=seed), "default")
        below += effects.of("c").lower(0.9) <= 0.1
    assert 0.85 <= below / 200 <= 1.0


def test_instability_is_told_from_noise():
    """A configuration that loses a half on two hosts of eight, beside nine that all take alike."""
    true = {f"c{number}": 0.02 * number for number in range(1, 10)}
    found = observed({**true, "unstable": 0.1})
    spoilt = [
        Observation(o.configuration, o.host, o.block, o.score * 0.5)
        if o.configuration == "unstable" and o.host in HOSTS[:2]
        else o
        for o in found
    ]
    effects = Effects(spoilt, "default")
    unstable, usual = effects.of("unstable").instability, effects.of("c5").instability
    assert unstable.interval.low > 0.1 > usual.interval.high
    assert unstable.share > 3 * usual.share
    assert effects.usual_instability < 0.06
    assert effects.of("unstable").lower(0.9) < effects.of("c1").lower(0.9)
    expected = effects.of("unstable").on_new_host(0.95)
    assert expected.low < math.log(0.7)


def test_one_host_says_nothing_about_instability():
    """What is usual stands in, and there is no interval."""
    effects = Effects(observed({"a": 0.1}, hosts=HOSTS[:1]), "default")
    assert effects.of("a").instability.interval is None
    assert effects.of("a").error > effects.noise


def test_observation_between_two_fits_counts_at_once():
    """Beside the levels that were found before: in a new block that of the host, of a new host none."""
    effects = Effects(observed({"a": 0.1, "b": 0.2}), "default")
    levels = effects.levels()
    effects.take_in(Observation("new", "host0", 1, 1.3 * effects.level_at("host0", 1)))
    assert effects.of("new").mean == pytest.approx(math.log(1.3))
    effects.take_in(Observation("new", "host1", 99, 1.1 * levels["host1"]))
    assert effects.of("new").by_host == pytest.approx({"host0": math.log(1.3), "host1": math.log(1.1)})
    effects.take_in(Observation("new", "host1", 99, 1.2 * levels["host1"]))
    assert effects.of("new").by_host["host1"] == pytest.approx((math.log(1.1) + math.log(1.2)) / 2)
    effects.take_in(Observation("other", "unknown", 1, 100.0))
    assert effects.of("other") is None
    assert effects.levels() == levels


@pytest.mark.parametrize("seed", range(3))
def test_effects_between_two_fits_are_almost_those_of_a_fit_to_all(seed):
    """The last 3 of 96 observations are taken in, as many as may be missing from a fit."""
    true = {f"c{number}": 0.02 * number for number in range(1, 11)}
    found = observed(true, seed=seed)
    np.random.default_rng(seed).shuffle(found)
    kept, fitted = Effects(found[:-3], "default"), Effects(found, "default")
    for each in found[-3:]:
        kept.take_in(each)
    for name in true:
        assert kept.of(name).mean == pytest.approx(fitted.of(name).mean, abs=0.01)
        assert kept.of(name).lower(0.9) == pytest.approx(fitted.of(name).lower(0.9), abs=0.01)


def test_model_of_thousands_of_trials_is_fitted_as_often_while_they_double():
    """With each of the first hundreds; later 32 times while they double, and never to much less than all."""
    fits = [fitted_of(trials) for trials in range(16_384)]
    assert fits[: FITTED_EACH + 1] == list(range(FITTED_EACH + 1))
    assert fits == sorted(fits)
    assert all(trials - fit <= trials / MISSING_SHARE for trials, fit in enumerate(fits))
    for trials in (1024, 2048, 4096, 8192):
        assert len(set(fits[trials : 2 * trials])) == MISSING_SHARE


def test_ten_thousand_trials_of_a_hundred_hosts_are_fitted_in_time():
    """The cost grows with the trials, not with their square."""
    generator = np.random.default_rng(1)
    found = [
        Observation(
            "default" if trial % 6 == 0 else f"c{generator.integers(2000)}",
            f"host{trial % 100}",
            1 + trial // 600,
            float(generator.uniform(90, 110)),
        )
        for trial in range(10_000)
    ]
    begun = time.process_time()
    Effects(found, "default")
    assert time.process_time() - begun < 2.0
