"""The reference: when it is measured, what it says about noise and drift, and what that means for repeats."""

import math
import random

import pytest
from trimtab_trials.measurement import Measurement, RequestCounts
from trimtab_trials.trial import Trial, Verdict
from trimtab_tuner.certainty.noise import (
    USUAL_NOISE,
    judge_noise,
    noise_of,
    planned_references,
    planned_repeats,
    reference_due,
    repeats_needed,
    smallest_gain,
    without_drift,
)
from trimtab_tuner.certainty.statistics import paired_gain

DEFAULT = {"workers": 1}


def test_reference_is_the_second_trial_and_every_tenth_after_it_within_the_budget():
    """Short searches have no trial to spare for it."""
    assert [p for p in range(1, 40) if reference_due(p, 36)] == [2, 12, 22, 32]
    assert (planned_references(36), planned_references(16), planned_references(7)) == (4, 2, 0)


def test_without_measurements_the_usual_noise_is_assumed():
    """Nothing is known yet, and that is not the same as no noise."""
    assert judge_noise([]).share == pytest.approx(USUAL_NOISE)
    assert judge_noise([(1, 100.0)]).share == pytest.approx(USUAL_NOISE)


@pytest.mark.parametrize("noise", [0.005, 0.05, 0.15])
def test_noise_of_many_measurements_is_their_spread(noise):
    """What is usual matters less and less."""
    chance = random.Random(3)
    scores = [(p, 100 * math.exp(chance.gauss(0, noise))) for p in range(1, 200)]
    found = judge_noise(scores)
    assert found.share == pytest.approx(noise, rel=0.2)
    assert found.drift_per_trial == 0.0


def climbed(capacity_rps, *, verdict=Verdict.FAILED_VERIFICATION, score=None, rungs=(500.0, 1000.0, 1300.0)):
    """A trial of the default, whose large files starve beyond what it follows."""
    return Trial(
        configuration=DEFAULT,
        verdict=verdict,
        score=score,
        measurements=tuple(
            Measurement(
                rate_rps=rate_rps,
                reply_rate_rps=min(rate_rps, capacity_rps),
                goodput_mbps=min(rate_rps, capacity_rps) / 10,
                requests=RequestCounts(offered=1_000, replied=900),
            )
            for rate_rps in rungs
        ),
    )


def test_default_that_fails_verification_tells_the_noise_all_the_same():
    """By its goodput up to the first rung that it did not follow."""
    steady = noise_of([climbed(900.0), climbed(900.0), climbed(900.0)], DEFAULT)
    restless = noise_of([climbed(600.0), climbed(900.0), climbed(1100.0)], DEFAULT)
    assert (steady.measured, restless.measured) == (3, 3)
    assert steady.share < USUAL_NOISE < restless.share


def test_what_was_not_driven_in_all_of_them_says_nothing():
    """A trial that was stopped earlier would look slower."""
    whole, shorter = climbed(2_000.0), climbed(2_000.0, rungs=(500.0, 1000.0))
    assert noise_of([whole, shorter, whole], DEFAULT).share < USUAL_NOISE


def test_drift_shows_in_a_default_that_fails_verification():
    """It is taken out of the others' scores."""
    drifting = [climbed(950.0 * 0.99**place) for place in range(8)]
    assert noise_of(drifting, DEFAULT).drift_per_trial < -0.003


def test_default_that_is_verified_is_judged_by_its_scores():
    """What it measured beside them changes nothing."""
    trials = [climbed(900.0, verdict=Verdict.VERIFIED, score=score) for score in (90.0, 110.0)]
    assert noise_of(trials, DEFAULT) == judge_noise([(1, 90.0), (2, 110.0)])


def test_drift_is_seen_and_taken_out():
    """A machine that gets 1 % slower with every trial does not pick the winner."""
    chance = random.Random(1)
    drifting = [(p, 100 * 0.99**p * math.exp(chance.gauss(0, 0.01))) for p in (1, 2, 12, 22, 32, 42)]
    reference = judge_noise(drifting)
    assert reference.drift_per_trial == pytest.approx(math.log(0.99), rel=0.15)
    early, late = (
        (p, Trial(configuration={"w": p}, verdict=Verdict.VERIFIED, score=200 * 0.99**p)) for p in (3, 40)
    )
    failed = (41, Trial(configuration={"w": 0}, verdict=Verdict.CRASHED))
    corrected = without_drift([early, late, failed], reference)
    assert corrected[0].score == pytest.approx(corrected[1].score, rel=0.05)
    assert corrected[2].score is None


def test_noise_alone_is_rarely_taken_for_drift():
    """One in a hundred by construction."""
    chance = random.Random(2)
    positions = (1, 2, 12, 22, 32, 42)
    seen = sum(
        judge_noise([(p, 100 * math.exp(chance.gauss(0, 0.05))) for p in positions]).drift_per_trial != 0
        for _ in range(400)
    )
    assert seen <= 12


def told(gain, *, noise, repeats, challengers=1):
    """The share of 1,000 confirmations in which a gain is told, with the interval that they use."""
    chance, confidence = random.Random(4), 1 - 0.05 / challengers

    def scores(level):
        return [level * math.exp(chance.gauss(0, noise)) for _ in range(repeats)]

    found = (
        paired_gain(scores(100.0), scores(100.0 * (1 + gain)), confidence=confidence) for _ in range(1000)
    )
    return sum(each.significant for each in found) / 1000


@pytest.mark.parametrize("challengers", [1, 3])
@pytest.mark.parametrize(("noise", "gain"), [(0.03, 0.05), (0.03, 0.1), (0.01, 0.02)])
def test_repeats_needed_tell_the_gain_nine_times_in_ten(noise, gain, challengers):
    """A/B by simulation, twice the standard error granted; of nothing at most 5 % are told, as ever."""
    repeats = repeats_needed(noise, gain, challengers=challengers)
    assert told(gain, noise=noise, repeats=repeats, challengers=challengers) >= 0.9 - 0.019
    assert told(0.0, noise=noise, repeats=repeats, challengers=challengers) <= 0.05 + 0.014
    if repeats > 3:
        assert told(gain, noise=noise, repeats=repeats - 2, challengers=challengers) < 0.9


def test_planned_repeats_are_the_usual_ones_at_least_and_three_times_as_many_at_most():
    """What even so many would rather miss than tell is not worth them."""
    plans = [planned_repeats(0.03, gain, challengers=1, usual=6) for gain in (0.2, 0.05, 0.035, 0.01, -0.05)]
    assert plans == [6, 11, 18, 6, 6]
    assert planned_repeats(0.03, 0.05, challengers=1, usual=4) == 11
    assert planned_repeats(0.03, 0.05, challengers=3, usual=6) == 14


def test_more_repeats_tell_smaller_gains():
    """And no number tells a gain of nothing."""
    assert repeats_needed(0.03, 0.2) < repeats_needed(0.03, 0.05) < repeats_needed(0.03, 0.02)
    assert repeats_needed(0.03, 0.0) == 64
    assert smallest_gain(0.03, 1) == math.inf


@pytest.mark.parametrize(
    ("scores", "basis"),
    [
        ([], "assumed: there are fewer than 2 measurements of the default"),
        ([100.0], "assumed: there are fewer than 2 measurements of the default"),
        (
            [100.0, 100.4],
            "from an assumed 3 % and 2 measurements of the default that differ by 0.3 %",
        ),
        (
            [90.0, 100.0, 110.0],
            "from an assumed 3 % and 3 measurements of the default that differ by 10.0 %",
        ),
    ],
)
def test_noise_says_what_was_assumed_and_what_was_measured(scores, basis):
    """Two scores that agree do not make the 2.4 % that come of them and the assumption."""
    assert judge_noise(list(enumerate(scores, start=1))).basis == basis


def test_spread_beside_a_drift_is_the_one_that_is_left():
    """What differs by its direction is not told a second time as noise."""
    steady = [(place, 100 * 0.98**place) for place in range(1, 9)]
    assert judge_noise(steady).drift_per_trial == pytest.approx(math.log(0.98))
    assert judge_noise(steady).spread == pytest.approx(0, abs=1e-9)
